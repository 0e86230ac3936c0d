import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type DurableAgent,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace, type WorkspaceOptions } from "agent-persistence/workspace";
import { onTestFinished } from "vitest";

export type Call = readonly [toolName: string, input: Readonly<Record<string, unknown>>];

/** An empty folder that goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "agent-workspace-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Everything below a folder: for each path what it is, with its mode. */
export function treeOf(root: string): Readonly<Record<string, string>> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(root.length + 1), describe(path)] as const;
  });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function describe(path: string): string {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  if (found.isDirectory()) return "folder";
  return `${(found.mode & 0o777).toString(8)} ${readFileSync(path, "latin1")}`;
}

/** One agent "coder" on one folder, as each process builds it. */
export class Coder {
  readonly root: string;
  readonly storage: PersistenceStorageProvider;
  readonly #turns: Parameters<typeof scriptedModel>[0];
  readonly #options: Omit<WorkspaceOptions, "root">;

  /** @param calls one answer of the model each; several calls in one are a list of calls. */
  constructor(
    calls: readonly (Call | readonly Call[])[],
    {
      root = temporaryFolder(),
      storage = new InMemoryPersistenceStorageProvider(),
      ...options
    }: Partial<WorkspaceOptions> & { readonly storage?: PersistenceStorageProvider } = {},
  ) {
    this.root = root;
    this.storage = storage;
    this.#options = options;
    const answers = calls.map((entry) => (typeof entry[0] === "string" ? [entry as Call] : (entry as readonly Call[])));
    this.#turns = [
      ...answers.map((entry) => ({ toolCalls: entry.map(([toolName, input]) => ({ toolName, input })) })),
      "done",
    ];
  }

  build(changed: Omit<Partial<WorkspaceOptions>, "root"> & { readonly storage?: PersistenceStorageProvider } = {}) {
    const { storage = this.storage, ...options } = changed;
    const workspace = new Workspace({ root: this.root, ...this.#options, ...options });
    const agent = new AIAgent({
      id: "coder",
      promptExecutor: scriptedModel(this.#turns),
      llmModel: "scripted",
      tools: workspace.tools,
    }).install(Persistence, { storage, participants: [workspace] });
    return { agent, workspace, saved: persistence(agent).agent() };
  }

  /** Runs to the end; the outputs of its tool calls, those that failed as the text that the model is told. */
  async run(): Promise<readonly unknown[]> {
    const { agent, saved } = this.build();
    await agent.run("go");
    return outputsOf(saved);
  }

  /** Rolls back to the checkpoint before the answer of that number, from 0. */
  async rollBack(turn: number, options: Omit<Partial<WorkspaceOptions>, "root"> = {}) {
    const { saved } = this.build(options);
    return saved.rollbackToCheckpoint(await this.checkpointAt(turn));
  }

  /** The id of the checkpoint before the answer of that number, from 0. */
  async checkpointAt(turn: number): Promise<string> {
    const checkpoints = await this.build().saved.getCheckpoints({ nodeId: "callModel" });
    return checkpoints[turn]?.checkpointId ?? "";
  }
}

async function outputsOf(saved: DurableAgent): Promise<readonly unknown[]> {
  const latest = await saved.getLatestCheckpoint();
  const contents = (latest?.messageHistory ?? []).flatMap(({ role, content }) =>
    role === "tool" && typeof content !== "string" ? content : [],
  );
  return contents.flatMap((part) => (part.type === "tool-result" ? [part.output] : []));
}
