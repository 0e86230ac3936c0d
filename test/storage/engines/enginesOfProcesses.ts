import { wholeSoak } from "../../soak/cases.ts";
import { type SharedEngine, sharedEngines } from "./engines.ts";

/**
 * For suites of several processes. The suite of logs compares all storages, so `npm test` uses files and one table, and a
 * whole soak uses every storage.
 */
export const enginesOfProcesses: readonly SharedEngine[] = wholeSoak ? sharedEngines : sharedEngines.slice(0, 2);
