/* Open MPI's packages leave this header out, which those of collectives include. Integers of Fortran are
 * ints. */
#ifndef OFFRAMP_OPENMPI5_FINT_2_INT_H
#define OFFRAMP_OPENMPI5_FINT_2_INT_H

#define OMPI_INT_2_FINT(number) (number)
#define OMPI_FINT_2_INT(number) (number)

#endif
