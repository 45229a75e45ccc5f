// PETSc solves a Poisson equation on a grid of 25 x 25 x 25 points with a known solution, by multigrid. The
// words choose how it exchanges ghost points: basic (messages), neighbor (MPI_Ineighbor_alltoallv), or window
// (MPI_Get and MPI_Accumulate between fences).
#include <petscdmda.h>
#include <petscksp.h>

/// The seven-point stencil, with 0 beyond the grid.
static PetscErrorCode make_matrix(KSP solver, Mat unused, Mat matrix, void* nothing) {
  DM grid;
  DMDALocalInfo here;
  (void)unused, (void)nothing;
  PetscFunctionBegin;
  PetscCall(KSPGetDM(solver, &grid));
  PetscCall(DMDAGetLocalInfo(grid, &here));
  for (PetscInt k = here.zs; k < here.zs + here.zm; ++k) {
    for (PetscInt j = here.ys; j < here.ys + here.ym; ++j) {
      for (PetscInt i = here.xs; i < here.xs + here.xm; ++i) {
        const MatStencil row = {.i = i, .j = j, .k = k};
        MatStencil columns[7] = {row, row, row, row, row, row, row};
        PetscScalar values[7] = {6, -1, -1, -1, -1, -1, -1};
        --columns[1].i, ++columns[2].i, --columns[3].j, ++columns[4].j, --columns[5].k, ++columns[6].k;
        for (int side = 1; side < 7; ++side) {
          const MatStencil* at = &columns[side];
          if (at->i >= here.mx || at->j >= here.my || at->k >= here.mz) columns[side].i = -1;  // is ignored
        }
        PetscCall(MatSetValuesStencil(matrix, 1, &row, 7, columns, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/// The largest error of the solution, with this way to exchange ghost points.
static PetscErrorCode solve(const char* way, PetscReal* error) {
  DM grid;
  KSP solver;
  PC multigrid;
  Mat matrix;
  Vec exact, right, found;
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-sf_type", way));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                         DMDA_STENCIL_STAR, 7, 7, 7, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL,
                         NULL, NULL, &grid));
  PetscCall(DMSetUp(grid));
  DM fine[2];
  PetscCall(DMRefineHierarchy(grid, 2, fine));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetDM(solver, fine[1]));
  PetscCall(KSPSetComputeOperators(solver, make_matrix, NULL));
  PetscCall(KSPSetType(solver, KSPCG));
  PetscCall(KSPSetTolerances(solver, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(solver, &multigrid));
  PetscCall(PCSetType(multigrid, PCMG));
  PetscCall(PCMGSetLevels(multigrid, 3, NULL));
  PetscCall(KSPSetUp(solver));
  PetscCall(KSPGetOperators(solver, &matrix, NULL));
  PetscCall(DMCreateGlobalVector(fine[1], &exact));
  PetscCall(VecDuplicate(exact, &right));
  PetscCall(VecDuplicate(exact, &found));
  PetscCall(VecSetRandom(exact, NULL));
  PetscCall(MatMult(matrix, exact, right));
  PetscCall(KSPSolve(solver, right, found));
  PetscCall(VecAXPY(found, -1, exact));
  PetscCall(VecNorm(found, NORM_INFINITY, error));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&right));
  PetscCall(VecDestroy(&found));
  PetscCall(KSPDestroy(&solver));
  for (int level = 0; level < 2; ++level) PetscCall(DMDestroy(&fine[level]));
  PetscCall(DMDestroy(&grid));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  static const char* const kWays[] = {"basic", "neighbor", "window"};
  PetscReal errors[3];
  PetscFunctionBegin;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  for (int i = 0; i < 3; ++i) PetscCall(solve(kWays[i], &errors[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "petsc"));
  for (int i = 0; i < 3; ++i)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s %s", kWays[i], errors[i] < 1e-8 ? "right" : "wrong"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(PetscFinalize());
  return 0;
}
