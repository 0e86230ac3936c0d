import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Line } from "./Line.ts";

const program = fileURLToPath(new URL("import.ts", import.meta.url));

/** How the agent program ended. */
export interface Ending {
  readonly processId: number | undefined;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly lines: readonly Line[];
}

/** Runs the agent program in a separate process. `onLine` gets each line that it prints, and may kill it. */
export async function runImport(
  options: Readonly<Record<string, string>>,
  onLine: (line: Line, kill: () => void) => void,
): Promise<Ending> {
  const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(process.execPath, ["--import", "tsx", program, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const lines: Line[] = [];
  for await (const text of createInterface({ input: child.stdout })) {
    const line = Line.parse(JSON.parse(text));
    lines.push(line);
    onLine(line, () => child.kill("SIGKILL"));
  }
  await closed;
  return { processId: child.pid, exitCode: child.exitCode, signal: child.signalCode, lines };
}
