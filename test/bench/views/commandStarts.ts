import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "../measure/statistics.ts";
import { loopingAgent } from "../ours/loopingAgent.ts";

/** How long the command line takes as a process, beside one that does nothing: medians in milliseconds. */
export interface CommandStartFigures {
  /** `node -e 0`. */
  readonly emptyMs: number;
  readonly commands: readonly { readonly name: string; readonly ms: number }[];
}

const rounds = 21;
const steps = 20;
const bin = fileURLToPath(new URL("../../../dist/cli/bin.js", import.meta.url));

/** On a storage with one agent of 20 steps. The processes take turns, so that all see the same machine. */
export async function commandStarts(directory: string): Promise<CommandStartFigures> {
  const storage = new FilePersistenceStorageProvider({ directory });
  await loopingAgent(storage, { steps, finishes: true }).run(1, { agentId: "bench" });
  await storage.log.close();
  const where = ["--storage", `file:${directory}`];
  const commands = [["--version"], ["list", ...where], ["show", "bench", ...where], ["tree", "bench", ...where]];
  const empty: number[] = [];
  const times = commands.map((): number[] => []);
  // The first round fills the caches and is thrown away.
  for (let round = 0; round <= rounds; round++) {
    empty.push(processMs(["-e", "0"]));
    for (const [at, command] of commands.entries()) times[at]?.push(processMs([bin, ...command]));
  }
  return {
    emptyMs: median(empty.slice(1)),
    commands: commands.map(([name = ""], at) => ({ name, ms: median(times[at]?.slice(1) ?? []) })),
  };
}

function processMs(args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const ms = performance.now() - start;
  if (status !== 0) throw new Error(stderr);
  return ms;
}
