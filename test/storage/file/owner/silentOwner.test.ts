import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentBusyError } from "../../../../src/errors/storage/AgentBusyError.ts";
import type { ProcessIdentity } from "../../../../src/node/ProcessIdentity.ts";
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

describe("an owner that shows no sign of life", () => {
  it("is taken over by processes that each live for a moment", async () => {
    const { machine, tryOnce } = await silent();
    const left = [];
    for (let tries = 0; tries < 3; tries++) {
      left.push(await tryOnce());
      machine.pass(5_000);
    }
    expect(left).toEqual([15_000, 10_000, 5_000]);
    expect(await tryOnce()).toBe("owned");
  });

  it("is found silent by processes that only ask who the owner is", async () => {
    const { directory, machine } = await silent();
    const ask = async () => (await testLog(directory, { processIdentity: machine.start() }).owner("a"))?.state;
    expect(await ask()).toBe("alive");
    machine.pass(15_000);
    expect(await ask()).toBe("silent");
  });

  it("is judged anew after a sign of life", async () => {
    const { directory, machine, tryOnce } = await silent();
    await tryOnce();
    machine.pass(14_000);
    await writeFile(join(agentPath(directory, "a"), "owners/1.alive"), "7\n");
    expect(await tryOnce()).toBe(15_000);
    machine.pass(14_000);
    expect(await tryOnce()).toBe(1_000);
  });

  it.each([{ bootId: "another boot" }, { timeNamespace: "another" }])(
    "is judged anew by a process that has another clock: %o",
    async (other) => {
      const { machine, tryOnce } = await silent();
      await tryOnce();
      machine.pass(60_000);
      expect(await tryOnce(machine.start(other))).toBe(15_000);
    },
  );

  it("is judged anew when the sighting is damaged or of a later time", async () => {
    const { directory, machine, tryOnce } = await silent();
    await tryOnce();
    machine.set(5);
    expect(await tryOnce()).toBe(15_000);
    machine.pass(60_000);
    await writeFile(join(agentPath(directory, "a"), "owners/1.seen"), '{"seen":{"atMs":-1}}\n');
    expect(await tryOnce()).toBe(15_000);
  });

  it("leaves no sighting behind once it was taken over", async () => {
    const { directory, machine, tryOnce } = await silent();
    await tryOnce();
    machine.pass(15_000);
    expect(await tryOnce()).toBe("owned");
    expect(await readdir(join(agentPath(directory, "a"), "owners"))).toEqual(["2.alive"]);
  });
});

describe("the lease", () => {
  it("of an owner is what it is judged by, however short that of the contender is", async () => {
    const { machine, owned, tryOnce } = await silent({ leaseMs: 15_000 });
    expect(await tryOnce(machine.start(), 1_000)).toBe(15_000);
    machine.pass(14_000);
    expect(await tryOnce(machine.start(), 1_000)).toBe(1_000);
    expect(await append(owned, "two")).toBe(2);
  });

  it("of an owner is what it is judged by, however long that of the contender is", async () => {
    const { machine, tryOnce } = await silent({ leaseMs: 1_000 });
    expect(await tryOnce(machine.start(), 15_000)).toBe(1_000);
    machine.pass(1_000);
    expect(await tryOnce(machine.start(), 15_000)).toBe("owned");
  });
});
