import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, tool } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { type crashAfter, scriptedModel } from "agent-persistence/testing";
import { Workspace, type WorkspaceOptions } from "agent-persistence/workspace";

export function put(root: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

/** An agent whose one tool does each piece of work in turn, within a capture. */
export class Shell {
  readonly root: string;
  readonly storage: LogPersistenceStorageProvider;
  readonly #work: readonly (() => void)[];
  readonly #before: (at: number) => void;
  readonly #options: Partial<WorkspaceOptions>;

  constructor(
    root: string,
    work: readonly (() => void)[],
    {
      storage = new InMemoryPersistenceStorageProvider(),
      before = () => {},
      ...options
    }: Partial<WorkspaceOptions> & {
      readonly storage?: LogPersistenceStorageProvider;
      /** Called before the capture of each piece of work. */
      readonly before?: (at: number) => void;
    } = {},
  ) {
    this.root = root;
    this.storage = storage;
    this.#work = work;
    this.#before = before;
    this.#options = options;
  }

  build(storage = this.storage as Parameters<typeof crashAfter>[0]) {
    const workspace = new Workspace({ root: this.root, ...this.#options });
    const run = tool({
      name: "run",
      description: "",
      inputSchema: z.object({ at: z.int() }),
      effect: "idempotent",
      execute: ({ at }, { context }) => {
        this.#before(at);
        return workspace.capture(context, () => this.#work[at]?.());
      },
    });
    const turns = [...this.#work.map((_, at) => ({ toolCalls: [{ toolName: "run", input: { at } }] })), "done"];
    const agent = new AIAgent({ id: "shell", llmModel: "m", promptExecutor: scriptedModel(turns), tools: [run] });
    agent.install(Persistence, { storage, participants: [workspace] });
    return { agent, workspace, saved: persistence(agent).agent() };
  }

  async run(): Promise<void> {
    await this.build().agent.run("go");
  }

  async rollBack(turn: number) {
    const { saved } = this.build();
    const checkpoints = await saved.getCheckpoints({ nodeId: "callModel" });
    return saved.rollbackToCheckpoint(checkpoints[turn]?.checkpointId ?? "");
  }
}

/** The steps in the report of a rollback. */
export const steps = (report: { readonly participants: readonly { readonly steps: readonly unknown[] }[] }) =>
  report.participants.flatMap((participant) => participant.steps);
