import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { persistence, type PersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { crashAfter } from "agent-persistence/testing";
import { vi } from "vitest";
import { type Answered, run, type TerminalOptions } from "./TestTerminal.ts";
import { deskOn } from "./desk/desk.mjs";

/** The module that `--agent` loads. */
export const deskModule = fileURLToPath(new URL("desk/desk.mjs", import.meta.url));

/** The first checkpoint, the model's answer and its checkpoint, and that both calls begin. */
const savesBeforeCalls = 3;

/** A folder with agents that real runs made, and a command line beside it. */
export class Desk implements AsyncDisposable {
  readonly storage: FilePersistenceStorageProvider;

  private constructor(readonly folder: string) {
    this.storage = new FilePersistenceStorageProvider({ directory: this.agents });
  }

  static async open(): Promise<Desk> {
    const desk = new Desk(await mkdtemp(join(tmpdir(), "agent-persistence-cli-")));
    vi.stubEnv("DESK_JOURNAL", desk.journal);
    vi.stubEnv("DESK_FOLDER", desk.agents);
    return desk;
  }

  get agents(): string {
    return join(this.folder, ".agent-persistence");
  }

  get journal(): string {
    return join(this.folder, "desk.txt");
  }

  /** Runs an agent until it waits for an approval. It has booked a room and written a letter by then. */
  async waits(agentId: string): Promise<void> {
    await deskOn(this.storage).run(`the order ${agentId}`, { agentId });
  }

  /** Runs an agent to its end. */
  async completes(agentId: string): Promise<void> {
    await this.waits(agentId);
    const durable = persistence(deskOn(this.storage)).agent(agentId);
    for (const { requestId } of await durable.getRequests()) await durable.answer(requestId, { approved: true });
    await deskOn(this.storage).resume({ agentId });
  }

  /** Runs an agent whose process dies while it books and writes: both calls are in doubt. */
  async crashes(agentId: string): Promise<void> {
    await this.runUntilCrash(crashAfter(this.storage, savesBeforeCalls), agentId);
    const inDoubt = await persistence(deskOn(this.storage)).agent(agentId).getToolCallsInDoubt();
    if (inDoubt.length !== 2) throw new Error(`${inDoubt.length} calls are in doubt.`);
  }

  /** Changes a byte of the log of an agent. @param where as a part of the log: 0 is its beginning. */
  async damage(agentId: string, where = 0.5): Promise<void> {
    const folder = join(this.agents, "tasks");
    const name = (await readdir(folder)).find((each) => each.startsWith(agentId)) ?? "";
    const checkpoints = join(folder, name, "checkpoints");
    const [segment = ""] = await readdir(checkpoints);
    const bytes = await readFile(join(checkpoints, segment));
    const at = Math.floor(bytes.length * where) + 20;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await writeFile(join(checkpoints, segment), bytes);
  }

  async runUntilCrash(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
    await deskOn(storage)
      .run("an order", { agentId })
      .catch(() => {});
  }

  /** What tools and inverses did. */
  async done(): Promise<readonly string[]> {
    return (await readFile(this.journal, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
  }

  command(args: readonly string[], options: TerminalOptions = {}): Promise<Answered> {
    return run(args, { cwd: this.folder, ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    vi.unstubAllEnvs();
    await this.storage.log.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
