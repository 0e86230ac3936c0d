import type { Place, Tree, TraceLine } from "./trace/TraceLine.ts";

/** A save of a person, with the lines of the trace between which it happened. `to` is infinite: it is not known whether. */
export interface Save {
  readonly path: string;
  readonly content: string | null;
  readonly from: number;
  readonly to: number;
}

/** From one line of the trace to another. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** A command of the agent. */
export interface Command {
  readonly at: number;
  readonly paths: readonly string[];
  /** It was killed, or nothing shows that what it changed is recorded. */
  readonly cut: boolean;
}

/** All files, as they were between two lines. */
export interface Look extends Interval {
  readonly files: Tree;
}

/** What was found, and the checkpoint to which the agent had just been rolled back, if it had. */
export interface Finding extends Look {
  readonly rolledBackTo?: string;
}

/** What the lines of a trace tell. */
export class Timeline {
  readonly saves: readonly Save[];
  readonly captures: readonly Interval[];
  readonly commands: readonly Command[];
  /** From the last look at a file to its replacement by the library. */
  readonly windows: readonly (Interval & { readonly path: string })[];
  /** The lines of replacements that tools of the agent made. */
  readonly toolReplacements: ReadonlySet<number>;
  readonly checkpoints: ReadonlyMap<string, Look>;
  readonly findings: readonly Finding[];

  constructor(readonly lines: readonly TraceLine[]) {
    this.saves = this.#each("saving", (line, from) => ({ ...line, from, to: this.#savedAt(line.path, from) }));
    this.captures = this.#each("capturing", (_, from) => ({ from, to: this.#next(from, ["captured", "killed"]) }));
    this.commands = this.#each("acts", ({ by, paths }, at) => ({ by, at, paths, cut: this.#isCut(at) })).filter(
      ({ by }) => by === "command",
    );
    this.windows = this.#each("replaces", ({ path }, at) => ({
      path,
      from: this.lastLook(path, at),
      to: this.#next(at, ["replaced", "killed"], path),
    }));
    this.toolReplacements = this.#inTools();
    this.checkpoints = new Map(
      this.#each("checkpoint", ({ id, files }, to) => [id, { files, from: this.#lastSeeing(to), to }] as const),
    );
    this.findings = this.#each("found", ({ files }, to) => this.#finding(files, to));
  }

  /** The last line before that says that the library looked at a file; -1: none does. */
  lastLook(path: string, before: number): number {
    return this.lines.findLastIndex((line, at) => at < before && line.kind === "looks" && line.path === path);
  }

  #inTools(): ReadonlySet<number> {
    const found = new Set<number>();
    let place: Place = "run";
    for (const [at, line] of this.lines.entries()) {
      if (line.kind === "enters") ({ place } = line);
      if (line.kind === "replaces" && place === "tool") found.add(at);
    }
    return found;
  }

  /** All lines of a kind with what is made of them. */
  #each<Kind extends TraceLine["kind"], Made>(
    kind: Kind,
    make: (line: Extract<TraceLine, { readonly kind: Kind }>, at: number) => Made,
  ): Made[] {
    return this.lines.flatMap((line, at) =>
      line.kind === kind ? [make(line as Extract<TraceLine, { readonly kind: Kind }>, at)] : [],
    );
  }

  #savedAt(path: string, from: number): number {
    const next = this.lines[from + 1];
    return next?.kind === "saved" && next.path === path ? from + 1 : this.#next(from, ["saved"], path, ["saving"]);
  }

  /** The next line of one of these kinds, unless one of the others comes first. */
  #next(from: number, kinds: readonly string[], path?: string, others: readonly string[] = []): number {
    const isOfPath = (line: TraceLine) => path === undefined || !("path" in line) || line.path === path;
    const at = this.lines.findIndex(
      (line, index) => index > from && [...kinds, ...others].includes(line.kind) && isOfPath(line),
    );
    return at < 0 || others.includes(this.lines[at]?.kind ?? "") ? Infinity : at;
  }

  /** Once the same process begins something else, what a command changed is recorded. */
  #isCut(at: number): boolean {
    const captured = this.#next(at, ["captured"], undefined, ["killed"]);
    if (captured === Infinity) return this.#next(at, ["killed"]) < Infinity;
    const goesOn = ["capturing", "committing", "replaces", "seeing", "rollsBack"];
    return this.#next(captured, goesOn, undefined, ["killed"]) === Infinity;
  }

  #lastSeeing(before: number): number {
    return this.lines.findLastIndex((line, at) => at < before && line.kind === "seeing");
  }

  #finding(files: Tree, to: number): Finding {
    const from = this.#lastSeeing(to);
    const before = this.lines.findLast((line, at) => at < from && !["saving", "saved", "enters"].includes(line.kind));
    return { files, from, to, ...(before?.kind === "rolledBack" && { rolledBackTo: before.to }) };
  }
}
