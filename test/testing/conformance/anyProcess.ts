import type { ProcessIdentity } from "../../../src/storage.ts";

/** A process of which nothing is known but that it runs. */
export const anyProcess: ProcessIdentity = {
  host: "test",
  bootId: "boot",
  pidNamespace: "",
  processId: 1,
  processStart: "",
  isRunning: () => true,
};
