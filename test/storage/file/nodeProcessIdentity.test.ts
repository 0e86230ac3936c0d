import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { nodeProcessIdentity } from "../../../src/node/nodeProcessIdentity.ts";
import { isSurelyGone } from "../../../src/node/ProcessIdentity.ts";

const identity = nodeProcessIdentity();
const { host, bootId, pidNamespace, processId, processStart } = identity;
const self = { host, bootId, pidNamespace, processId, processStart };

it("knows that this process runs, and that another with its number and another start does not", () => {
  expect(self.processId).toBe(process.pid);
  expect(identity.isRunning(self.processId, self.processStart)).toBe(true);
  expect(isSurelyGone(self, identity)).toBe(false);
  expect(isSurelyGone({ ...self, processStart: "another" }, identity)).toBe(true);
});

it("knows that a process has ended", async () => {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  expect(isSurelyGone({ ...self, processId: child.pid ?? 0, processStart: "1" }, identity)).toBe(true);
});

it.each([{ bootId: "another" }, { pidNamespace: "another" }])("knows nothing of a process with %o", (other) => {
  expect(isSurelyGone({ ...self, processStart: "another", ...other }, identity)).toBe(false);
});
