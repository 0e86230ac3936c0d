/**
 * What random tests begin from. `TEST_SEED` repeats the choices of an earlier run; without it, each run makes others. When
 * exactly a process is killed is up to the machine all the same.
 */
export const testSeed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
