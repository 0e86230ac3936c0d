import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const asTerminal = fileURLToPath(new URL("asTerminal.mjs", import.meta.url));

/** What a program runs on: a pseudo-terminal of `script`, or pipes that say that they are a terminal. */
export type TerminalKind = "pseudo-terminal" | "simulated terminal";

/** Node has no pseudo-terminals. Where the machine has util-linux, there is a real one besides the one that is always there. */
export const terminalKinds: readonly TerminalKind[] = [
  "simulated terminal",
  ...(hasScript() ? (["pseudo-terminal"] as const) : []),
];

/** A command line in a process of its own, on a terminal. */
export class TerminalProcess {
  /** What the terminal got: standard output and standard error. */
  screen = "";
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #waiting = new Set<() => void>();

  /** @param command the program and its arguments, as a shell takes them. */
  constructor(
    kind: TerminalKind,
    command: string,
    {
      cwd,
      columns,
      env = {},
    }: { readonly cwd: string; readonly columns: number; readonly env?: Readonly<Record<string, string>> },
  ) {
    const { CI: _ci, NO_COLOR: _noColor, FORCE_COLOR: _color, NODE_OPTIONS: _options, ...own } = process.env;
    const all = { ...own, TERM: "xterm-256color", COLUMNS: String(columns), ...env };
    const simulated = { ...all, NODE_OPTIONS: `--import=${asTerminal}` };
    this.#child =
      kind === "pseudo-terminal"
        ? spawn("script", ["-qfec", `stty cols ${columns}; ${command}`, "/dev/null"], { cwd, env: all })
        : spawn("/bin/sh", ["-c", command], { cwd, env: simulated });
    this.#closed = once(this.#child, "close");
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (bytes: Buffer) => this.#add(String(bytes)));
  }

  /** Types when the screen has a text. */
  async types(keys: string, when: string): Promise<void> {
    while (!this.screen.includes(when)) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    this.#child.stdin?.write(keys);
  }

  async ended(): Promise<{ readonly code: number | null; readonly screen: string }> {
    await this.#closed;
    return { code: this.#child.exitCode, screen: this.screen };
  }

  #add(text: string): void {
    this.screen += text.replaceAll("\r\n", "\n");
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

function hasScript(): boolean {
  return spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") === true;
}
