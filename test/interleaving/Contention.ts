import { createHash } from "node:crypto";
import { AgentBusyError, OwnershipLostError } from "agent-persistence";
import { AlreadyExistsError } from "agent-persistence/errors";
import type { LogAppend, OwnedLog, StoredAppends } from "agent-persistence/storage";
import { FileRecordLog, type FileSystem } from "agent-persistence/file";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { collect } from "../storage/file/support/fixture.ts";
import { HastyClock } from "../storage/file/support/TestClock.ts";
import { GatedProcess, settled } from "./GatedProcess.ts";
import { normalized } from "./normalized.ts";

const agentId = "contended";

const expected = [AgentBusyError, AlreadyExistsError, OwnershipLostError];

let executions = 0;

/** Whom a process believes to be dead: those that are, or everybody else, themselves aside. */
export type Belief = "the first owner" | "everybody else";

/** How the processes of a contention see their files; the same for all. */
export type Wrap = (fileSystem: FileSystem) => FileSystem;

/** One execution of several processes on one log: in which order they make their calls is somebody else's choice. */
export class Contention {
  readonly fileSystem = new SimulatedFileSystem();
  readonly processes: GatedProcess[] = [];
  readonly #wrap: Wrap;
  readonly #believedDead: Belief;
  /** Owners in this process that failed are remembered by their folder, so each execution has its own. */
  readonly #directory = `/store-${++executions}`;
  readonly #acknowledged: string[] = [];
  #isDeleting = false;
  readonly #errors: unknown[] = [];

  constructor(believedDead: Belief, wrap: Wrap = (fileSystem) => fileSystem) {
    this.#believedDead = believedDead;
    this.#wrap = wrap;
  }

  /** A process, and what it does from now on, call by call; being busy, losing the log and finding that it is there end it. */
  async start(
    name: string,
    prepare: (log: FileRecordLog) => Promise<OwnedLog | undefined>,
    act: (log: FileRecordLog, owned: OwnedLog) => Promise<void>,
  ): Promise<void> {
    await this.begin(name, prepare, async (log, owned) =>
      act(log, owned ?? (await log.open(agentId, ownerNamed(name)))),
    );
  }

  /** A process that makes the log of lines, and appends to it. @param texts what the lines and the append after them have. */
  async receive(name: string, received: StoredAppends, last: LogAppend, texts: readonly string[]): Promise<void> {
    const none = async (): Promise<undefined> => undefined;
    await this.begin(name, none, async (log) => {
      const owned = await log.receive(agentId, ownerNamed(name), received, async () => last);
      for (const [index, text] of texts.entries()) this.#acknowledged.push(`${index + 1} ${text}`);
      await this.append(owned, name);
    });
  }

  /** A process; what it prepares may have opened the log. */
  async begin(
    name: string,
    prepare: (log: FileRecordLog) => Promise<OwnedLog | undefined>,
    act: (log: FileRecordLog, owned: OwnedLog | undefined) => Promise<void>,
  ): Promise<void> {
    const process = new GatedProcess(name, this.#wrap(this.fileSystem));
    this.processes.push(process);
    const log = this.#log(name, process.fileSystem);
    const owned = await prepare(log);
    process.close();
    const done = async (): Promise<void> => act(log, owned);
    void done().catch((error: unknown) => {
      if (!expected.some((each) => error instanceof each)) this.#errors.push(error);
    });
    await settled();
  }

  open(log: FileRecordLog, name: string): Promise<OwnedLog> {
    return log.open(agentId, ownerNamed(name));
  }

  /** Appends, and notes where, once it is acknowledged. */
  async append(owned: OwnedLog, text: string): Promise<void> {
    const entry = { id: text, records: [{ kind: "test", text } as never] };
    const position = await owned.append(entry, owned.position);
    this.#acknowledged.push(`${position} ${text}`);
  }

  /** Deletes the agent: nothing that was acknowledged until then has to be there. */
  async drop(owned: OwnedLog): Promise<void> {
    this.#isDeleting = true;
    await owned.drop();
    this.#acknowledged.length = 0;
    this.#isDeleting = false;
  }

  /** What must not be: something acknowledged that a reader does not find at its place, or two at one place. */
  async violations(fileSystem: FileSystem = this.fileSystem): Promise<readonly string[]> {
    const entries = await collect(this.#log("reader", fileSystem).read(agentId)).catch((error: unknown) =>
      String(error),
    );
    if (typeof entries === "string") return [entries];
    const found = entries.map(
      ({ position, records: [record] }) => `${position} ${(record as unknown as { text: string }).text}`,
    );
    const lost = (this.#isDeleting ? [] : this.#acknowledged)
      .filter((one) => !found.includes(one))
      .map((one) => `${one} was acknowledged and is gone`);
    return [...lost, ...this.#errors.map(String)];
  }

  /** What is on the device for certain. */
  durable(): SimulatedFileSystem {
    const [amnesia] = this.fileSystem.crashStates(this.fileSystem.position, { models: ["amnesia"] });
    return amnesia?.restart() ?? this.fileSystem;
  }

  /** The same for any two executions from which the same can follow. */
  state(durable: SimulatedFileSystem): string {
    const hash = createHash("sha1");
    for (const files of [this.fileSystem, durable]) {
      for (const [path, bytes] of files.files()) hash.update(`${normalized(path)} ${bytes.length}\n`).update(bytes);
      hash.update("\n\n");
    }
    for (const { told } of this.processes) hash.update(`${told} `);
    return hash.digest("base64");
  }

  #log(name: string, fileSystem: FileSystem): FileRecordLog {
    const isRunning = (processId: number): boolean =>
      this.#believedDead === "the first owner" && processId !== numberOf("first");
    return new FileRecordLog({
      directory: this.#directory,
      reserveBytes: 0,
      fileSystem,
      clock: new HastyClock(),
      processIdentity: {
        host: "one",
        bootId: "boot",
        pidNamespace: "ns",
        processId: numberOf(name),
        processStart: "start",
        isRunning,
      },
    });
  }
}

const ownerNamed = (name: string) => ({ host: "one", processId: numberOf(name), nonce: name });

const names = ["first", "second", "third"];
const numberOf = (name: string): number => names.indexOf(name) + 1;
