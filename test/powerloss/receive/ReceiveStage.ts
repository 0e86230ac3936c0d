import { AgentBusyError } from "agent-persistence";
import { FileRecordLog, type FileSystem } from "agent-persistence/file";
import type { LogOwner, OwnedLog } from "agent-persistence/storage";
import type { SimulatedFileSystem } from "agent-persistence/testing";
import { appendText, collect, exampleRecord, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import type { Crashes } from "../Crashes.ts";
import { Machine } from "../Machine.ts";
import { mustSucceed, Violation } from "../Violation.ts";

const [from, to] = ["source", "target"];
const generation = 40;
let owners = 0;

/** How a process sees a file system. */
export type Wrap = (fileSystem: FileSystem) => FileSystem;

/** A device with an agent whose lines another takes. */
export class ReceiveStage {
  readonly fileSystem: SimulatedFileSystem;
  readonly #wrap: Wrap;
  readonly #machine: Machine;

  constructor(fileSystem: SimulatedFileSystem, wrap: Wrap = (system) => system, machine = new Machine()) {
    this.fileSystem = fileSystem;
    this.#wrap = wrap;
    this.#machine = machine;
  }

  /** @returns when the lines began to come, and when they had come. */
  async play(): Promise<{ readonly begun: number; readonly done: number }> {
    const { log } = this.#start();
    const owned = await log.open(from, nextOwner());
    const blob = await log.blobs.put(from, owned.generation, Buffer.from("large"));
    for (const text of ["one", blob, "three"])
      await appendText(owned, text, { summary: exampleSummary(from, "paused") });
    await owned.release();
    const begun = this.fileSystem.position;
    const target = await receive(log);
    const done = this.fileSystem.position;
    await appendText(target, "after");
    await target.release();
    return { begun, done };
  }

  /** After every crash since a moment the target has nothing or all of it, and can be had and deleted. */
  async explore({ begun, done }: { readonly begun: number; readonly done: number }, crashes: Crashes): Promise<void> {
    for (const state of crashes.statesOf(this.fileSystem, begun, false)) {
      const restarted = crashes.restart(state, String(state.after >= done));
      if (restarted === undefined) continue;
      const machine = state.model === "kill" ? this.#machine : new Machine();
      machine.endAll();
      const next = new ReceiveStage(restarted, this.#wrap, machine);
      await crashes.check(state, () => next.recover(state.after >= done));
    }
  }

  async recover(promised: boolean): Promise<void> {
    const { log, clock } = this.#start();
    const found = await mustSucceed("usable", () => collect(log.encodedAppends(to)));
    if (found.length === 0 && promised) throw new Violation("acknowledged", "nothing of the target is left");
    if (found.length > 0) await this.#assertWhole(log, found.length);
    const listed = await mustSucceed("usable", () => collect(log.list()));
    if (listed.some(({ agentId }) => agentId === to) !== found.length > 0)
      throw new Violation("acknowledged", "the list and the log of the target differ");
    const own = () => (found.length > 0 ? log.open(to, nextOwner()) : receive(log));
    const owned = await mustSucceed("usable", () =>
      own().catch((error: unknown) => {
        // Whoever began before the crash cannot be asked any more; it is waited for.
        if (!(error instanceof AgentBusyError)) throw error;
        clock.advance(15_000);
        return own();
      }),
    );
    if (owned.generation <= generation) throw new Violation("acknowledged", `generation ${owned.generation} is used`);
    await this.#assertWhole(log, owned.position);
    await mustSucceed("usable", () => appendText(owned, "again"));
    await mustSucceed("usable", () => owned.drop());
    if ((await collect(log.encodedAppends(to))).length > 0)
      throw new Violation("acknowledged", "the target is still there");
  }

  async #assertWhole(log: FileRecordLog, count: number): Promise<void> {
    if (count < 4) throw new Violation("acknowledged", `${count} lines are there`);
    const [ours, theirs] = [await collect(log.encodedAppends(to)), await collect(log.encodedAppends(from))];
    const differs = theirs.findIndex((line, at) => !Buffer.from(line).equals(Buffer.from(ours[at] ?? [])));
    if (differs >= 0) throw new Violation("acknowledged", `line ${differs + 1} is another`);
    for (const line of ours)
      for (const [reference] of referencesIn(line))
        if (!(await mustSucceed("acknowledged", () => log.blobs.get(to, reference))))
          throw new Violation("acknowledged", "a blob is missing");
  }

  #start() {
    const { options, clock } = this.#machine.start(this.#wrap(this.fileSystem));
    return { log: new FileRecordLog(options), clock };
  }
}

/** Every line comes after the blob that it names. */
function receive(log: FileRecordLog): Promise<OwnedLog> {
  async function* lines() {
    for await (const line of log.encodedAppends(from)) {
      for (const [reference] of Buffer.from(line)
        .toString()
        .matchAll(/blob:\/\/[0-9a-f]{64}-[0-9]+/g))
        await log.blobs.copy?.(from, reference, to);
      yield line;
    }
  }
  const last = () => ({ id: "last", records: [exampleRecord("last")], summary: exampleSummary(to, "copied") });
  return log.receive(to, nextOwner(), { appends: lines(), generation }, last);
}

function referencesIn(line: Uint8Array) {
  return Buffer.from(line)
    .toString()
    .matchAll(/blob:\/\/[0-9a-f]{64}-[0-9]+/g);
}

function nextOwner(): LogOwner {
  return { host: "simulated", processId: 1, nonce: `owner ${++owners}` };
}
