#!/usr/bin/env python3
"""Makes liechtenstein.gr and liechtenstein.names from an OpenStreetMap XML extract.

    make_liechtenstein.py liechtenstein-2013-08-03.osm.bz2 OUTPUT_FOLDER

A vertex is a junction or a dead end of the roads that cars may use; an arc is the stretch of road
between two of them, its weight the length in whole metres. One-way streets give one arc, all others
two. Only the largest strongly connected part is kept, so that every place reaches every other.
README.md in this folder says where the input comes from. Standard library only.
"""
import bz2
import collections
import math
import sys
import xml.etree.ElementTree as ElementTree

ROADS = {"motorway", "motorway_link", "trunk", "trunk_link", "primary", "primary_link",
         "secondary", "secondary_link", "tertiary", "tertiary_link", "unclassified",
         "residential", "living_street"}
PLACES = {"town", "village", "hamlet"}
EARTH_RADIUS_M = 6371008.8
NOTICE = ["Roads of Liechtenstein and its borders on 2013-08-03, weights in metres.",
          "Contains information from OpenStreetMap (https://www.openstreetmap.org/copyright),",
          "(c) OpenStreetMap contributors, made available under the Open Database License 1.0",
          "(https://opendatacommons.org/licenses/odbl/1-0/). Made by make_liechtenstein.py."]


def read_osm(path):
    """Returns coordinates by node, the roads as (tags, nodes), and the places as (name, node)."""
    at, roads, places = {}, [], {}
    for _, element in ElementTree.iterparse(bz2.open(path)):
        if element.tag not in ("node", "way"):
            continue
        tags = {tag.get("k"): tag.get("v") for tag in element.findall("tag")}
        if element.tag == "node":
            at[element.get("id")] = (float(element.get("lat")), float(element.get("lon")))
            if tags.get("place") in PLACES and "name" in tags:
                places.setdefault(tags["name"], element.get("id"))
        elif tags.get("highway") in ROADS and tags.get("access") not in ("no", "private"):
            roads.append((tags, [nd.get("ref") for nd in element.findall("nd")]))
        element.clear()
    return at, roads, places


def metres(a, b):
    """Great-circle distance (haversine) of two (latitude, longitude) pairs in degrees."""
    (lat_a, lon_a), (lat_b, lon_b) = (map(math.radians, a), map(math.radians, b))
    h = (math.sin((lat_b - lat_a) / 2) ** 2
         + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2)
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(h))


def directions(tags):
    """(may be driven along the way, may be driven against it)."""
    oneway = tags.get("oneway", "yes" if tags.get("junction") == "roundabout" else "no")
    return (oneway != "-1", oneway not in ("yes", "true", "1"))


def segments_by_node(roads, at):
    """node -> neighbour -> (length, may be driven from node to neighbour)."""
    segments = collections.defaultdict(dict)
    for tags, nodes in roads:
        forth, back = directions(tags)
        for a, b in zip(nodes, nodes[1:]):
            if a == b or a not in at or b not in at:
                continue
            length = metres(at[a], at[b])
            segments[a][b] = (length, forth or segments[a].get(b, (0, False))[1])
            segments[b][a] = (length, back or segments[b].get(a, (0, False))[1])
    return segments


def contract(segments):
    """Arcs {(from, to): metres} between the nodes that are not just bends of a road."""
    arcs = {}
    for start in (node for node in segments if len(segments[node]) != 2):
        for step in segments[start]:
            previous, node, length, open_way = start, step, *segments[start][step]
            while len(segments[node]) == 2:
                following = next(n for n in segments[node] if n != previous)
                more, open_segment = segments[node][following]
                length, open_way = length + more, open_way and open_segment
                previous, node = node, following
            if open_way and node != start:
                weight = max(1, round(length))
                arcs[start, node] = min(weight, arcs.get((start, node), weight))
    return arcs


def reachable(start, arcs_from):
    seen, stack = {start}, [start]
    while stack:
        for node in arcs_from.get(stack.pop(), ()):
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


def largest_component(arcs):
    """The largest set of nodes that all reach each other."""
    forth, back = collections.defaultdict(list), collections.defaultdict(list)
    for a, b in arcs:
        forth[a].append(b)
        back[b].append(a)
    rest, best = set(forth) | set(back), set()
    while len(rest) > len(best):
        start = min(rest)
        component = reachable(start, forth) & reachable(start, back)
        best = max(best, component, key=len)
        rest -= component
    return best


def street_names(roads):
    """node -> names of the streets that meet there, the numbered road where a street has none."""
    names = collections.defaultdict(set)
    for tags, nodes in roads:
        for node in nodes:
            names[node].add(tags.get("name") or tags.get("ref") or "unnamed road")
    return names


def vertex_names(vertices, roads, places, at):
    """The vertex nearest to a place gets its name, others "place, street / street", all unique."""
    centre = {min(vertices, key=lambda v: metres(at[v], at[node])): name
              for name, node in sorted(places.items())}
    streets, used, names = street_names(roads), collections.Counter(), {}
    for vertex in vertices:
        near = min(places, key=lambda name: metres(at[vertex], at[places[name]]))
        named = sorted(streets[vertex] - {"unnamed road"}) or ["unnamed road"]
        text = centre.get(vertex, f"{near}, {' / '.join(named)}")
        used[text] += 1
        names[vertex] = text if used[text] == 1 else f"{text} ({used[text]})"
    return names


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    at, roads, places = read_osm(sys.argv[1])
    arcs = contract(segments_by_node(roads, at))
    kept = largest_component(arcs)
    vertices = sorted(kept, key=lambda v: (-at[v][0], at[v][1]))  # north to south
    number = {vertex: index + 1 for index, vertex in enumerate(vertices)}
    numbered = sorted((number[a], number[b], w) for (a, b), w in arcs.items()
                      if a in number and b in number)
    names = vertex_names(vertices, roads, places, at)
    with open(f"{sys.argv[2]}/liechtenstein.gr", "w", encoding="utf-8") as out:
        out.writelines(f"c {line}\n" for line in NOTICE)
        out.write(f"p sp {len(vertices)} {len(numbered)}\n")
        out.writelines(f"a {a} {b} {w}\n" for a, b, w in numbered)
    with open(f"{sys.argv[2]}/liechtenstein.names", "w", encoding="utf-8") as out:
        out.writelines(f"# {line}\n" for line in NOTICE)
        out.write("# vertex, latitude, longitude, name; separated by tabs\n")
        out.writelines(f"{number[v]}\t{at[v][0]:.6f}\t{at[v][1]:.6f}\t{names[v]}\n"
                       for v in vertices)
    print(f"{len(vertices)} vertices, {len(numbered)} arcs")


if __name__ == "__main__":
    main()
