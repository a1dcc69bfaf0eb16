"""What processes, MPI and Ray differ in: how a leader reaches its workers."""
