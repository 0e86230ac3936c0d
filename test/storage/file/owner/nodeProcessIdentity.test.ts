import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeProcessIdentity } from "../../../../src/nodejs/nodeProcessIdentity.ts";
import { isSurelyGone, processFacts } from "../../../../src/nodejs/ProcessIdentity.ts";

const identity = nodeProcessIdentity();
const self = processFacts(identity);

it("recognizes this process, but not its number with another start time", () => {
  expect(self.processId).toBe(process.pid);
  expect(identity.isRunning(self.processId, self.processStart)).toBe(true);
  expect(isSurelyGone(self, identity)).toBe(false);
  expect(isSurelyGone({ ...self, processStart: "another" }, identity)).toBe(true);
});

it("detects that a process has ended", async () => {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  expect(isSurelyGone({ ...self, processId: child.pid ?? 0, processStart: "1" }, identity)).toBe(true);
});

it.each([{ bootId: "another" }, { pidNamespace: "another" }, { timeNamespace: "another" }])(
  "is uncertain about a process with %o",
  (other) => {
    expect(isSurelyGone({ ...self, processStart: "another", ...other }, identity)).toBe(false);
  },
);

it("never considers a process with an unknown start time ended", () => {
  const isLinux = process.platform === "linux";
  expect(isSurelyGone({ ...self, processId: 4_000_000, processStart: "" }, identity)).toBe(!isLinux);
});

const inNewNamespace = [
  "-pf",
  process.execPath,
  "--import",
  "tsx",
  join(import.meta.dirname, "../support/printIdentity.ts"),
];
const canUnshare = spawnSync("unshare", ["-pf", "true"]).status === 0;

describe.skipIf(!canUnshare)("a /proc of another namespace", () => {
  it("makes the state of every process uncertain", () => {
    const { stdout } = spawnSync("unshare", inNewNamespace, { encoding: "utf8" });
    const { facts, ended, shared } = JSON.parse(stdout) as {
      readonly facts: typeof self;
      readonly ended: boolean;
      readonly shared: boolean;
    };
    expect({ ended, shared, start: facts.processStart }).toEqual({ ended: false, shared: false, start: "" });
    expect(isSurelyGone({ ...facts, pidNamespace: self.pidNamespace, bootId: self.bootId }, identity)).toBe(false);
  });
});
