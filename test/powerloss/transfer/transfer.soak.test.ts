import { cancelMove, exportAgent, finishMove, importAgent, type ImportReport } from "agent-persistence/transfer";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { bytesOf, finish, inPieces, payer, waitingPayer } from "../../transfer/movedAgents.ts";
import { Crashes } from "../Crashes.ts";
import { Machine } from "../Machine.ts";
import { every } from "../../soak/cases.ts";
import { mustSucceed, Violation } from "../Violation.ts";

const agentId = "order-7";
const small = { inlineThresholdBytes: 300 };

/** Two storages on one device, as a process sees them. */
function start(fileSystem: SimulatedFileSystem, machine = new Machine()) {
  const { options, clock } = machine.start(fileSystem);
  const at = (directory: string) => new FilePersistenceStorageProvider({ ...options, ...small, directory });
  return { source: at("/source"), target: at("/target"), clock };
}

it("a move lets at most one agent run after every crash, and is finished or canceled", async () => {
  const fileSystem = new SimulatedFileSystem();
  const { source, target } = start(fileSystem);
  await waitingPayer(source);
  const begun = fileSystem.position;
  const { receipt } = await importAgent(target, exportAgent(source, agentId, { move: true }));
  const arrived = fileSystem.position;
  await finishMove(source, agentId, receipt);
  const crashes = new Crashes({ samples: 1, nestEvery: 0, nestedMoments: 0, seed: 1, stride: every(21, 1) });
  for (const state of crashes.statesOf(fileSystem, begun, false)) {
    const restarted = crashes.restart(state, String(state.after >= arrived));
    if (restarted) await crashes.check(state, () => recover(restarted, state.after >= arrived));
  }
  expect(crashes.distinct).toBeGreaterThan(5);
});

it("a canceled move and a takeover of a copy are done or can be repeated after every crash", async () => {
  const fileSystem = new SimulatedFileSystem();
  const { source, target } = start(fileSystem);
  await waitingPayer(source);
  const begun = fileSystem.position;
  await bytesOf(exportAgent(source, agentId, { move: true }));
  await cancelMove(source, agentId);
  const calledOff = fileSystem.position;
  await importAgent(target, exportAgent(source, agentId));
  const copied = fileSystem.position;
  await payer(target).feature.agent(agentId).takeOver();
  const taken = fileSystem.position;
  const crashes = new Crashes({ samples: 1, nestEvery: 0, nestedMoments: 0, seed: 1, stride: every(45, 1) });
  for (const state of crashes.statesOf(fileSystem, begun, false)) {
    const [isBack, isThere, isTaken] = [calledOff, copied, taken].map((moment) => state.after >= moment);
    const here = isBack ? ["waiting"] : ["waiting", "moving"];
    const there = isTaken ? ["waiting"] : isThere ? ["copied", "waiting"] : ["copied", "waiting", undefined];
    const restarted = crashes.restart(state, `${here.join()} ${there.join()}`);
    if (restarted) await crashes.check(state, () => recoverCopy(restarted, here, there));
  }
  expect(crashes.distinct).toBeGreaterThan(5);
});

async function recoverCopy(
  fileSystem: SimulatedFileSystem,
  here: readonly (string | undefined)[],
  there: readonly (string | undefined)[],
): Promise<void> {
  const { source, target, clock } = start(fileSystem);
  const once = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    await Promise.all([source, target].map((storage) => storage.log.owner(agentId)));
    clock.advance(15_000);
    return mustSucceed("usable", call);
  };
  const [left, arrived] = await once(() => Promise.all([statusOf(source), statusOf(target)]));
  if (!here.includes(left) || !there.includes(arrived))
    throw new Violation("acknowledged", `the agent is ${left}, and its copy is ${arrived}`);
  if (left === "moving") await once(() => cancelMove(source, agentId));
  if (arrived === undefined) await once(() => importAgent(target, exportAgent(source, agentId)));
  if (arrived !== "waiting") await once(() => payer(target).feature.agent(agentId).takeOver());
  for (const storage of [source, target]) {
    const { output } = await once(() => finish(payer(storage)) as Promise<{ readonly output?: unknown }>);
    if (output !== "ann, 800") throw new Violation("acknowledged", `the agent ends with ${String(output)}`);
  }
}

async function recover(fileSystem: SimulatedFileSystem, hasArrived: boolean): Promise<void> {
  const { source, target, clock } = start(fileSystem);
  // Whoever began before the crash cannot be asked any more; it is waited for.
  const once = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    await Promise.all([source, target].map((storage) => storage.log.owner(agentId)));
    clock.advance(15_000);
    return mustSucceed("usable", call);
  };
  const before = await once(() => Promise.all([statusOf(source), statusOf(target)]));
  const [here, there] = before.map((status) => status === "waiting");
  if (here && there) throw new Violation("acknowledged", `both can run: ${before.join(", ")}`);
  if (hasArrived && !there) throw new Violation("acknowledged", "what has arrived is gone");
  if (there) {
    const { output } = await once(() => finish(payer(target)) as Promise<{ readonly output?: unknown }>);
    if (output !== "ann, 800") throw new Violation("acknowledged", `the agent ends with ${String(output)}`);
    return;
  }
  if (before[0] === "moving") await once(() => cancelMove(source, agentId));
  const archive = await once(() => bytesOf(exportAgent(source, agentId, { move: true })));
  const report = await once((): Promise<ImportReport> => importAgent(target, inPieces(archive, 4096)));
  await once(() => finishMove(source, agentId, report.receipt));
  if ((await statusOf(source)) !== "moved") throw new Violation("idempotent", "the move is not finished");
}

async function statusOf({ log }: FilePersistenceStorageProvider): Promise<string | undefined> {
  for await (const { status } of log.list()) return status;
  return undefined;
}
