import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { median } from "../measure/statistics.ts";
import type { Target } from "../targets.ts";
import { timeOf } from "../measure/timeOf.ts";

const files = 10_000;
const changedFiles = 10;
const restoredFiles = 2_000;
const rounds = 15;
const fileBytes = 4_000;

/** Captures and a rollback, beside git with the same files. Times alternate. */
export async function capturesBesideGit(directory: string): Promise<Target[]> {
  const root = join(directory, "root");
  const shadow = join(directory, "shadow.git");
  write(root, 0, files, 0);
  const git = (...args: string[]): string =>
    execFileSync("git", [`--git-dir=${shadow}`, `--work-tree=${root}`, ...args], { encoding: "utf8" });
  git("init", "-q");
  git("add", "-A");
  const workspace = new Workspace({ root });
  const [ours, status]: [number[], number[]] = [[], []];
  const plan = strategy<string, string>("captures", (graph) => {
    const step = graph.node("step", async (round: number, context) => {
      let work = 0;
      const all = await timeOf(() =>
        workspace.capture(context, async () => {
          work = await timeOf(async () => write(root, round * changedFiles, changedFiles, round + 1));
        }),
      );
      ours.push(all - work);
      status.push(await timeOf(async () => git("status", "--porcelain")));
      return round + 1;
    });
    const many = graph.node("many", (input: number, context) =>
      workspace.capture(context, () => (write(root, 0, restoredFiles, rounds + 2), `${input}`)),
    );
    graph.edge(graph.start, step, { map: () => 0 });
    graph.edge(step, step, { when: (round) => round <= rounds });
    graph.edge(step, many, { when: (round) => round > rounds });
    graph.edge(many, graph.finish);
  });
  const storage = new FilePersistenceStorageProvider({ directory: join(directory, "storage") });
  const agent = new AIAgent({ id: "a", llmModel: "m", promptExecutor: scriptedModel([]), strategy: plan }).install(
    Persistence,
    { storage, participants: [workspace] },
  );
  await agent.run("go");
  const saved = persistence(agent).agent();
  const before = (await saved.getCheckpoints()).findLast(({ nodeId }) => nodeId === "many");
  if (before === undefined) throw new Error("There is no checkpoint before the last node.");
  const contents = () => readFileSync(nameOf(root, restoredFiles - 1), "utf8");
  const changed = contents();
  const rollbackMs = await timeOf(() => saved.rollbackToCheckpoint(before.checkpointId));
  if (contents() === changed) throw new Error("The rollback restored no file.");
  git("add", "-A");
  const tree = git("write-tree").trim();
  write(root, 0, restoredFiles, rounds + 4);
  git("add", "-A");
  const gitMs = await timeOf(async () => git("read-tree", "-u", "--reset", tree));
  // The first capture reads all files.
  const [captureMs, statusMs] = [median(ours.slice(1)), median(status.slice(1))];
  return [
    {
      name: `capture with 10 changed files of 10,000 (${captureMs.toFixed(0)} ms) ÷ git status (${statusMs.toFixed(0)} ms)`,
      found: captureMs / statusMs,
      atMost: 3,
      unit: "×",
    },
    {
      name: `rollback of 2,000 files (${rollbackMs.toFixed(0)} ms) ÷ git read-tree -u (${gitMs.toFixed(0)} ms)`,
      found: rollbackMs / gitMs,
      atMost: 4,
      unit: "×",
    },
  ];
}

function write(root: string, from: number, count: number, round: number): void {
  for (let at = from; at < from + count; at++) {
    const file = nameOf(root, at);
    if (round === 0) mkdirSync(dirname(file), { recursive: true });
    const line = `export const value${at}x${round} = ${Math.sin(at + round * files)};\n`;
    writeFileSync(file, line.repeat(fileBytes).slice(0, fileBytes));
  }
}

function nameOf(root: string, at: number): string {
  return join(root, `part-${at % 100}`, `file-${at}.ts`);
}
