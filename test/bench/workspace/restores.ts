import { mkdirSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { timeOf } from "../measure/timeOf.ts";

/** What a rollback of many files costs. */
export interface RestoreFigures {
  readonly files: number;
  readonly rollbackMs: number;
  /** The same files, one after the other: written, synced and renamed. */
  readonly loopMs: number;
}

const files = 5_000;
const fileBytes = 4_000;

/** A command changes 5,000 files, and a rollback restores them. */
export async function restores(directory: string): Promise<RestoreFigures> {
  const [root, storage] = [join(directory, "root"), join(directory, "storage")];
  for (let at = 0; at < 100; at++) mkdirSync(join(root, folderOf(at)), { recursive: true });
  const write = (round: number): void => {
    for (let at = 0; at < files; at++) writeFileSync(join(root, nameOf(at)), contentOf(at, round));
  };
  write(0);
  const workspace = new Workspace({ root });
  const plan = strategy<string, string>("restores", (graph) => {
    const before = graph.node("before", async (input: string) => input);
    const node = graph.node("change", (input: string, context) => workspace.capture(context, () => (write(1), input)));
    graph.edge(graph.start, before);
    graph.edge(before, node);
    graph.edge(node, graph.finish);
  });
  const agent = new AIAgent({ id: "a", llmModel: "m", promptExecutor: scriptedModel([]), strategy: plan }).install(
    Persistence,
    { storage: new FilePersistenceStorageProvider({ directory: storage }), participants: [workspace] },
  );
  await agent.run("go");
  const saved = persistence(agent).agent();
  const [first] = await saved.getCheckpoints();
  const loopMs = await timeOf(() => loop(join(directory, "loop")));
  const rollbackMs = await timeOf(() => saved.rollbackToCheckpoint(first?.checkpointId ?? ""));
  return { files, rollbackMs, loopMs };
}

async function loop(root: string): Promise<void> {
  mkdirSync(root);
  for (let at = 0; at < files; at++) {
    const file = await open(join(root, `${at}`), "w");
    await file.writeFile(contentOf(at, 0));
    await file.sync();
    await file.close();
  }
}

function folderOf(at: number): string {
  return `part-${at % 100}`;
}

function nameOf(at: number): string {
  return join(folderOf(at), `file-${at}.ts`);
}

function contentOf(at: number, round: number): string {
  return `export const value${at}x${round} = ${Math.sin(at + round * files)};\n`.repeat(fileBytes).slice(0, fileBytes);
}
