/* Open MPI's packages lack this header, which the headers of collectives include. Fortran integers are ints.
 * */
#ifndef OFFRAMP_OPENMPI5_FINT_2_INT_H
#define OFFRAMP_OPENMPI5_FINT_2_INT_H

#define OMPI_INT_2_FINT(number) (number)
#define OMPI_FINT_2_INT(number) (number)

#endif
