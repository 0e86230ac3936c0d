import { cpSync } from "node:fs";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type RunResult,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { Drift, Workspace, type DriftNotice } from "agent-persistence/workspace";
import { claim } from "./claims.ts";
import { greetingsFile, Repository } from "./Repository.ts";

interface Kind {
  readonly name: string;
  /** The changes that others make to the origin and the work tree between two steps of the agent. */
  readonly happens: (origin: Repository, clone: Repository) => void;
  readonly expected: (notice: DriftNotice) => boolean;
}

const kinds: readonly Kind[] = [
  {
    name: "upstream commits to other files: the task continues, and rebases at its end",
    happens: (origin) => commit(origin, "OTHER.md", "other"),
    expected: ({ report, response }) => report.severity === "low" && response.action === "continue",
  },
  {
    name: "upstream commits to other lines of the agent's file: the task continues, and a rebase soon is advised",
    happens: (origin) => replaceAndCommit(origin, "Bye ", "So long, "),
    expected: ({ report, response }) => report.severity === "medium" && response.action === "continue",
  },
  {
    name: "upstream commits to the agent's very line: the task waits for a person",
    happens: (origin) => replaceAndCommit(origin, "Hello ", "Welcome, "),
    expected: ({ report, response }) => report.severity === "high" && response.action === "pause",
  },
  {
    name: "local changes that the workspace did not make",
    happens: (_origin, clone) => clone.write("LOCAL.md", "a person's"),
    expected: ({ report }) => report.localFiles.join() === "LOCAL.md",
  },
  {
    name: "history that was rewritten: the task stops, with advice",
    happens: (origin) => origin.git("commit", "--quiet", "--amend", "--message=Rewritten"),
    expected: ({ report, response }) => report.rewritten && response.action === "stop",
  },
];

/** Each kind of drift on a repository with an origin of its own, while an agent has changed a line of a file. */
export async function showDrift(directory: string): Promise<void> {
  for (const [at, { name, happens, expected }] of kinds.entries()) {
    const { origin, clone } = withOrigin(`${directory}/drift-${at}`);
    const { notices, result } = await meet(clone, () => happens(origin, clone));
    const last = notices.at(-1);
    claim(last !== undefined && expected(last), name);
    const waits = last?.response.action === "pause" || last?.response.action === "stop";
    claim(result.status === (waits ? "waiting" : "completed"), `so its run is ${result.status}`);
  }
}

function withOrigin(directory: string) {
  const origin = Repository.create(`${directory}/origin`);
  const clone = new Repository(`${directory}/clone`);
  cpSync(origin.root, clone.root, { recursive: true });
  clone.git("remote", "add", "origin", origin.root);
  clone.git("fetch", "--quiet");
  clone.git("branch", "--quiet", "--set-upstream-to=origin/main");
  return { origin, clone };
}

/** The agent edits a file; `happens` is called before its next step. */
async function meet(
  clone: Repository,
  happens: () => void,
): Promise<{ readonly notices: readonly DriftNotice[]; readonly result: RunResult<string> }> {
  const workspace = new Workspace({ root: clone.root });
  const edit = { path: greetingsFile, oldText: '"Hello "', newText: '"Good day "' };
  const notices: DriftNotice[] = [];
  const agent = new AIAgent({
    id: "drifting",
    promptExecutor: scriptedModel([{ toolCalls: [{ toolName: "edit_file", input: edit }] }, "done"]),
    llmModel: "scripted",
    tools: workspace.tools,
  })
    .install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), participants: [workspace] })
    .install(Drift, {
      root: clone.root,
      intervalMs: 0,
      fetch: async () => {
        if ((await saved().getCheckpoints({ nodeId: "callModel" })).length === 2) happens();
        clone.git("fetch", "--quiet");
      },
      onDrift: (notice) => void notices.push(notice),
    });
  const saved = () => persistence(agent).agent();
  return { result: await agent.run("Be polite."), notices };
}

function replaceAndCommit(origin: Repository, oldText: string, newText: string): void {
  commit(origin, greetingsFile, origin.read(greetingsFile).replace(oldText, newText));
}

function commit(repository: Repository, path: string, content: string): void {
  repository.write(path, content);
  repository.git("add", "--all");
  repository.git("commit", "--quiet", `--message=${path}`);
}
