import fc from "fast-check";
import { testSeed } from "./testSeed.ts";

// A property that fails prints its own seed, so a run without `TEST_SEED` leaves the choice to fast-check.
if (process.env["TEST_SEED"] !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: testSeed });
