import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentBusyError } from "../../../../src/errors/storageErrors.ts";
import type { ProcessIdentity } from "../../../../src/nodejs/ProcessIdentity.ts";
import { agentPath, append, nextOwner, testDirectory, testLog, TestMachine } from "../support/fixture.ts";
import { TestClock } from "../support/TestClock.ts";

/** A machine with a clock that all its processes share; each has one of its own besides. */
function machineWithClock(boot = "boot-1") {
  const machine = new TestMachine(boot);
  let now = 1_000_000;
  const start = (more: Partial<ProcessIdentity> = {}): ProcessIdentity => ({
    ...machine.start(),
    pidNamespace: "a container",
    sinceBootMs: () => now,
    ...more,
  });
  return { start, pass: (ms: number) => void (now += ms), set: (ms: number) => void (now = ms) };
}

/** An owner in another container, that will not show itself again. */
async function silent({ leaseMs = 15_000 } = {}) {
  const directory = await testDirectory();
  const machine = machineWithClock();
  const processIdentity = machine.start({ pidNamespace: "another container" });
  const owned = await testLog(directory, { processIdentity, leaseMs }).open("a", nextOwner());
  await append(owned, "one");
  /** A process that tries once, and how that ends. */
  const tryOnce = async (identity: ProcessIdentity = machine.start(), lease = 15_000) => {
    const log = testLog(directory, { processIdentity: identity, clock: new TestClock(), leaseMs: lease });
    const outcome: unknown = await log.open("a", nextOwner()).catch((error: unknown) => error);
    return outcome instanceof AgentBusyError ? outcome.retryAfterMs : "owned";
  };
  return { directory, machine, owned, tryOnce };
}

describe("an owner without heartbeats", () => {
  it("is replaced by processes that each run only briefly", async () => {
    const { machine, tryOnce } = await silent();
    const left = [];
    for (let tries = 0; tries < 3; tries++) {
      left.push(await tryOnce());
      machine.pass(5_000);
    }
    expect(left).toEqual([15_000, 10_000, 5_000]);
    expect(await tryOnce()).toBe("owned");
  });

  it("is found silent by processes that only read the owner", async () => {
    const { directory, machine } = await silent();
    const ask = async () => (await testLog(directory, { processIdentity: machine.start() }).owner("a"))?.state;
    expect(await ask()).toBe("alive");
    machine.pass(15_000);
    expect(await ask()).toBe("silent");
  });

  it("is observed from the start after a heartbeat", async () => {
    const { directory, machine, tryOnce } = await silent();
    await tryOnce();
    machine.pass(14_000);
    await writeFile(join(agentPath(directory, "a"), "owners/1.alive"), "7\n");
    expect(await tryOnce()).toBe(15_000);
    machine.pass(14_000);
    expect(await tryOnce()).toBe(1_000);
  });

  it.each([{ bootId: "another boot" }, { timeNamespace: "another" }])(
    "is observed from the start by a process with another clock: %o",
    async (other) => {
      const { machine, tryOnce } = await silent();
      await tryOnce();
      machine.pass(60_000);
      expect(await tryOnce(machine.start(other))).toBe(15_000);
    },
  );

  it("is observed from the start when the sighting is damaged or in the future", async () => {
    const { directory, machine, tryOnce } = await silent();
    await tryOnce();
    machine.set(5);
    expect(await tryOnce()).toBe(15_000);
    machine.pass(60_000);
    await writeFile(join(agentPath(directory, "a"), "owners/1.seen"), '{"seen":{"atMs":-1}}\n');
    expect(await tryOnce()).toBe(15_000);
  });

  it("leaves no sighting after its replacement", async () => {
    const { directory, machine, tryOnce } = await silent();
    await tryOnce();
    machine.pass(15_000);
    expect(await tryOnce()).toBe("owned");
    expect(await readdir(join(agentPath(directory, "a"), "owners"))).toEqual([]);
  });
});

describe("the lease", () => {
  it("of an owner decides its expiry even if the lease of the contender is shorter", async () => {
    const { machine, owned, tryOnce } = await silent({ leaseMs: 15_000 });
    expect(await tryOnce(machine.start(), 1_000)).toBe(15_000);
    machine.pass(14_000);
    expect(await tryOnce(machine.start(), 1_000)).toBe(1_000);
    expect(await append(owned, "two")).toBe(2);
  });

  it("of an owner decides its expiry even if the lease of the contender is longer", async () => {
    const { machine, tryOnce } = await silent({ leaseMs: 1_000 });
    expect(await tryOnce(machine.start(), 15_000)).toBe(1_000);
    machine.pass(1_000);
    expect(await tryOnce(machine.start(), 15_000)).toBe("owned");
  });
});
