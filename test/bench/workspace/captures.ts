import { mkdirSync, statSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, strategy } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { median } from "../measure/statistics.ts";

/** What a capture costs in a folder of 10,000 files, of which each step changes 10. */
export interface CaptureFigures {
  /** The first, which reads and keeps everything. */
  readonly firstMs: number;
  /** The median of the others: both scans and everything that is stored, without the work itself. */
  readonly stepMs: number;
  /** How much the storage grew after the first, by how much was written into files. */
  readonly growth: number;
}

const files = 10_000;
const changedFiles = 10;
const steps = 30;
/** What a source file has, about. */
const fileBytes = 4_000;

export async function captures(directory: string): Promise<CaptureFigures> {
  const [root, storage] = [join(directory, "root"), join(directory, "storage")];
  for (let at = 0; at < files; at++) write(root, at, 0);
  const workspace = new Workspace({ root });
  const times: number[] = [];
  let kept = 0;
  const plan = strategy<string, string>("captures", (graph) => {
    const node = graph.node("step", async (step: number, context) => {
      let work = 0;
      const start = performance.now();
      await workspace.capture(context, () => {
        const begin = performance.now();
        for (let at = 0; at < changedFiles; at++) write(root, (step * changedFiles + at) % files, step + 1);
        work = performance.now() - begin;
      });
      times.push(performance.now() - start - work);
      if (step === 0) kept = bytesIn(storage);
      return step + 1;
    });
    graph.edge(graph.start, node, { map: () => 0 });
    graph.edge(node, node, { when: (step) => step <= steps });
    graph.edge(node, graph.finish, { when: (step) => step > steps, map: String });
  });
  await new AIAgent({ id: "a", llmModel: "m", promptExecutor: scriptedModel([]), strategy: plan, maxIterations: 1_000 })
    .install(Persistence, {
      storage: new FilePersistenceStorageProvider({ directory: storage }),
      participants: [workspace],
    })
    .run("go");
  const [firstMs = 0, ...later] = times;
  const written = steps * changedFiles * fileBytes;
  return { firstMs, stepMs: median(later), growth: (bytesIn(storage) - kept) / written };
}

/** Files of no two of which the content is the same. */
function write(root: string, at: number, round: number): void {
  const folder = join(root, `part-${at % 100}`);
  if (round === 0) mkdirSync(folder, { recursive: true });
  const line = `export const value${at}x${round} = ${Math.sin(at + round * files)};\n`;
  writeFileSync(join(folder, `file-${at}.ts`), line.repeat(fileBytes).slice(0, fileBytes));
}

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
