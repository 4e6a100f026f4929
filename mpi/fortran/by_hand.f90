! Interfaces of the functions that are written by hand. CHOICE is any type and rank.
  interface
    subroutine MPI_Init(ierror)
      integer, intent(out) :: ierror
    end subroutine MPI_Init
    subroutine MPI_Init_thread(required, provided, ierror)
      integer, intent(in) :: required
      integer, intent(inout) :: provided
      integer, intent(out) :: ierror
    end subroutine MPI_Init_thread
    subroutine MPI_Pcontrol(level)
      integer, intent(in) :: level
    end subroutine MPI_Pcontrol
    subroutine MPI_Info_create_env(info, ierror)
      integer, intent(inout) :: info
      integer, intent(out) :: ierror
    end subroutine MPI_Info_create_env
    subroutine MPI_Info_get(info, key, valuelen, value, flag, ierror)
      integer, intent(in) :: info, valuelen
      character(len=*), intent(in) :: key
      character(len=*), intent(inout) :: value
      logical, intent(inout) :: flag
      integer, intent(out) :: ierror
    end subroutine MPI_Info_get
    subroutine MPI_Info_get_string(info, key, buflen, value, flag, ierror)
      integer, intent(in) :: info
      character(len=*), intent(in) :: key
      integer, intent(inout) :: buflen
      character(len=*), intent(inout) :: value
      logical, intent(inout) :: flag
      integer, intent(out) :: ierror
    end subroutine MPI_Info_get_string
    subroutine MPI_Op_create(user_fn, commute, op, ierror)
      external :: user_fn
      logical, intent(in) :: commute
      integer, intent(inout) :: op
      integer, intent(out) :: ierror
    end subroutine MPI_Op_create
    subroutine MPI_Comm_create_errhandler(comm_errhandler_fn, errhandler, ierror)
      external :: comm_errhandler_fn
      integer, intent(inout) :: errhandler
      integer, intent(out) :: ierror
    end subroutine MPI_Comm_create_errhandler
    subroutine MPI_Grequest_start(query_fn, free_fn, cancel_fn, extra_state, request, ierror)
      external :: query_fn, free_fn, cancel_fn
      integer(8), intent(in) :: extra_state
      integer, intent(inout) :: request
      integer, intent(out) :: ierror
    end subroutine MPI_Grequest_start
    subroutine MPI_Errhandler_create(handler_fn, errhandler, ierror)
      external :: handler_fn
      integer, intent(inout) :: errhandler
      integer, intent(out) :: ierror
    end subroutine MPI_Errhandler_create
    subroutine MPI_Comm_create_keyval(comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, &
          extra_state, ierror)
      external :: comm_copy_attr_fn, comm_delete_attr_fn
      integer, intent(inout) :: comm_keyval
      integer(8), intent(in) :: extra_state
      integer, intent(out) :: ierror
    end subroutine MPI_Comm_create_keyval
    subroutine MPI_Type_create_keyval(type_copy_attr_fn, type_delete_attr_fn, type_keyval, &
          extra_state, ierror)
      external :: type_copy_attr_fn, type_delete_attr_fn
      integer, intent(inout) :: type_keyval
      integer(8), intent(in) :: extra_state
      integer, intent(out) :: ierror
    end subroutine MPI_Type_create_keyval
    subroutine MPI_Keyval_create(copy_fn, delete_fn, keyval, extra_state, ierror)
      external :: copy_fn, delete_fn
      integer, intent(inout) :: keyval
      integer, intent(in) :: extra_state
      integer, intent(out) :: ierror
    end subroutine MPI_Keyval_create
    subroutine MPI_Comm_set_attr(comm, comm_keyval, attribute_val, ierror)
      integer, intent(in) :: comm, comm_keyval
      integer(8), intent(in) :: attribute_val
      integer, intent(out) :: ierror
    end subroutine MPI_Comm_set_attr
    subroutine MPI_Comm_get_attr(comm, comm_keyval, attribute_val, flag, ierror)
      integer, intent(in) :: comm, comm_keyval
      integer(8), intent(inout) :: attribute_val
      logical, intent(inout) :: flag
      integer, intent(out) :: ierror
    end subroutine MPI_Comm_get_attr
    subroutine MPI_Type_set_attr(datatype, type_keyval, attribute_val, ierror)
      integer, intent(in) :: datatype, type_keyval
      integer(8), intent(in) :: attribute_val
      integer, intent(out) :: ierror
    end subroutine MPI_Type_set_attr
    subroutine MPI_Type_get_attr(datatype, type_keyval, attribute_val, flag, ierror)
      integer, intent(in) :: datatype, type_keyval
      integer(8), intent(inout) :: attribute_val
      logical, intent(inout) :: flag
      integer, intent(out) :: ierror
    end subroutine MPI_Type_get_attr
    subroutine MPI_Attr_put(comm, keyval, attribute_val, ierror)
      integer, intent(in) :: comm, keyval, attribute_val
      integer, intent(out) :: ierror
    end subroutine MPI_Attr_put
    subroutine MPI_Attr_get(comm, keyval, attribute_val, flag, ierror)
      integer, intent(in) :: comm, keyval
      integer, intent(inout) :: attribute_val
      logical, intent(inout) :: flag
      integer, intent(out) :: ierror
    end subroutine MPI_Attr_get
    subroutine MPI_Address(location, address, ierror)
      CHOICE :: location
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: location
      integer, intent(inout) :: address
      integer, intent(out) :: ierror
    end subroutine MPI_Address
    subroutine MPI_Type_extent(datatype, extent, ierror)
      integer, intent(in) :: datatype
      integer, intent(inout) :: extent
      integer, intent(out) :: ierror
    end subroutine MPI_Type_extent
    subroutine MPI_Type_lb(datatype, displacement, ierror)
      integer, intent(in) :: datatype
      integer, intent(inout) :: displacement
      integer, intent(out) :: ierror
    end subroutine MPI_Type_lb
    subroutine MPI_Type_ub(datatype, displacement, ierror)
      integer, intent(in) :: datatype
      integer, intent(inout) :: displacement
      integer, intent(out) :: ierror
    end subroutine MPI_Type_ub
    subroutine MPI_Type_hvector(count, blocklength, stride, oldtype, newtype, ierror)
      integer, intent(in) :: count, blocklength, stride, oldtype
      integer, intent(inout) :: newtype
      integer, intent(out) :: ierror
    end subroutine MPI_Type_hvector
    subroutine MPI_Type_hindexed(count, blocklengths, displs, oldtype, newtype, ierror)
      integer, intent(in) :: count, blocklengths(*), displs(*), oldtype
      integer, intent(inout) :: newtype
      integer, intent(out) :: ierror
    end subroutine MPI_Type_hindexed
    subroutine MPI_Type_struct(count, blocklengths, displs, types, newtype, ierror)
      integer, intent(in) :: count, blocklengths(*), displs(*), types(*)
      integer, intent(inout) :: newtype
      integer, intent(out) :: ierror
    end subroutine MPI_Type_struct
    double precision function MPI_Wtime()
    end function MPI_Wtime
    double precision function MPI_Wtick()
    end function MPI_Wtick
    integer(8) function MPI_Aint_add(base, displ)
      integer(8), intent(in) :: base, displ
    end function MPI_Aint_add
    integer(8) function MPI_Aint_diff(one, other)
      integer(8), intent(in) :: one, other
    end function MPI_Aint_diff
  end interface
