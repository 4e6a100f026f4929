"""Names at their limits: each either works or is refused with a clear text.

Usage: esp_run_names_test.py TEST ESP_RUN BOOT_PROBE
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys

import jobs
from jobs import Job, skip

ESP_RUN, PROBE = sys.argv[2:4]
NODES = ("1", "2")
ODD = b"a b'c\"d\n,:;[]\\%s{}$HOME\t\xff\xfe"


def esp_run(*arguments, **popen):
    return Job(ESP_RUN, "--timeout", "50", "-n2", *arguments, errors="surrogateescape", **popen)


def expect_exchange(*arguments, **popen):
    with esp_run(*arguments, "exchange", **popen) as job:
        assert job.expect(0).out.count("ok ") == 2, job.out


def text(name):
    return os.fsdecode(name)


def require_namespace(*kinds):
    if subprocess.run(["unshare", *kinds, "true"], capture_output=True).returncode != 0:
        skip(f"this user may not unshare {' '.join(kinds)}")


def with_host_name(name):
    clone_new_uts = 0x04000000
    libc = ctypes.CDLL(None, use_errno=True)

    def change():
        if libc.unshare(clone_new_uts) != 0 or libc.sethostname(name, len(name)) != 0:
            raise OSError(ctypes.get_errno(), "host name")
    return change


def test_host_names():
    # Up to 64 bytes of any value. What no list of nodes could hold is replaced.
    require_namespace("--uts")
    for name, shown in ((b"h" * 64, "h" * 64), (b"h" * 55 + b"12", "h" * 55 + "12"),
                        (b"7" * 64, "7" * 64), (b"a-" * 32, "a-" * 32), (b"", "localhost"),
                        (b"a,b:c;d[1]", "a_b_c_d_1_"), (b"a b\n'\"\xff%s", "a_b_____s")):
        for nodes in NODES:
            with esp_run("--nodes", nodes, PROBE, "where",
                         preexec_fn=with_host_name(name)) as job:
                rows = sorted(line.split() for line in job.expect(0).out.splitlines())
            expected = [shown + f"-node{rank}" * (nodes == "2") for rank in range(2)]
            assert [row[3] for row in rows] == expected, (name, rows)


def test_arguments_and_environment():
    longest = b"x" * (32 * os.sysconf("SC_PAGE_SIZE") - 1)  # MAX_ARG_STRLEN of Linux
    arguments = (ODD, b"", b" ", b"--", b"-", b"--help", b"-n", b"=", longest)
    show = ("sh", "-c", r'printf "%s\0" "$@" "$ODD" "$LONG" | sha256sum', "sh")
    environment = dict(os.environb)
    environment.update({b"ODD": ODD, b"LONG": longest[5:], b"A B\xff": b"1", b"PMIX_MCA_": b"3",
                        b"PMIX_MCA_\xff": b"\xff", b"PMIX_RANK": ODD, b"PMIX_": b""})
    whole = b"".join(one + b"\0" for one in (*arguments, ODD, longest[5:]))
    for nodes in NODES:
        with esp_run("--nodes", nodes, *show, *(text(one) for one in arguments), env={
                text(name): text(value) for name, value in environment.items()}) as job:
            sums = [line.split()[0] for line in job.expect(0).out.splitlines()]
        assert sums == [hashlib.sha256(whole).hexdigest()] * 2, job.err
    variables = ("TMPDIR", "HOME", "USER", "LOGNAME", "HOSTNAME", "LANG", "LC_ALL", "PWD")
    for value in ("/" + "x" * 9000, text(ODD), ""):
        expect_exchange("--nodes", "2", PROBE,
                        env={**os.environ, **{variable: value for variable in variables}})


def test_paths():
    for name in ("p" * 255, text(ODD), ":", "-- "):
        shutil.copy(PROBE, name)
        expect_exchange("./" + name)
        expect_exchange(os.path.abspath(name), cwd="/")
    searched = ["p" * 250] * 500 + [text(ODD), os.path.abspath("folder\n\"'")]
    os.mkdir("folder\n\"'")
    shutil.copy(PROBE, "folder\n\"'/probe")
    expect_exchange("probe", env={**os.environ, "PATH": ":".join(searched)})
    for missing in ("/" + "x" * 5000, "x" * 5000, "/" + text(ODD)):
        with esp_run(missing) as job:
            job.expect(127, err=missing)
    # With -x and --wdir, too.
    show = 'printf "%s %s\\n" "$(pwd -P)" "$(env | tr "\\n" "?" | grep -c "O={}")"'
    folder = text(ODD) + " folder"
    os.mkdir(folder)
    for directory in (folder, os.path.abspath(folder)):
        with esp_run("--wdir", directory, "-x", text(b"N\xff :,=" + ODD), "-x", "O={}", "sh", "-c",
                     show) as job:
            assert job.expect(0).out == (os.path.realpath(folder) + " 1\n") * 2
    # Below a path that is longer than a system call takes.
    for _ in range(20):
        os.mkdir("d" * 255)
        os.chdir("d" * 255)
    shutil.copy(PROBE, "probe")
    expect_exchange("--nodes", "2", "./probe")


def expect_exchange_in(namespace, script):
    """In a namespace of its own that the script prepares."""
    command = ("unshare", namespace, "sh", "-e", "-c", script + '\nexec "$@"', "sh", ESP_RUN,
               "-n2", "--nodes", "2", "--timeout", "50", PROBE, "exchange")
    with Job(*command) as job:
        assert job.expect(0).out.count("ok ") == 2, job.out


def test_users():
    require_namespace("--mount")
    for name in (b"u" * 32, b"u" * 5000, ODD.replace(b"\n", b"").replace(b":", b""), None):
        with open("users", "wb") as file:
            file.write(name + b":x:0:0::/root:/bin/sh\n" if name else b"")
        expect_exchange_in("--mount", "mount --bind users /etc/passwd")


def test_interfaces():
    require_namespace("--net")
    jobs.require_program("ip")
    names = "a='fifteen-chars-x' b=\"$(printf 'o\\377,\"')\"\n"
    make = names + 'ip link add $a type veth peer name "$b"\n'
    if subprocess.run(["unshare", "--net", "sh", "-c", make], capture_output=True).returncode != 0:
        skip("this kernel makes no interfaces (veth)")
    expect_exchange_in("--net", make + """
        ip link set lo up
        ip address add 10.9.9.9/24 dev $a
        ip address add 10.9.8.9/24 dev "$b"
        ip link set $a up
        ip link set "$b" up""")


jobs.run(globals())
