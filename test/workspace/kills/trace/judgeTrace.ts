import { isLinedText } from "../linedText.ts";
import { link, personsFiles, sharedFiles, stagedFor, versionedFiles } from "../paths.ts";
import { contentIn } from "../readTree.ts";
import { type Finding, type Save, Timeline } from "../Timeline.ts";
import type { TraceLine } from "./TraceLine.ts";

/** What a trace shows. */
export interface Judgement {
  readonly violations: readonly string[];
  /** How often a file was where a person, or a checkpoint, had left it, and nothing excused another state. */
  readonly asPersonLeft: number;
  readonly asAtCheckpoint: number;
  /** Saves of a person that fell between the last look and the replacement, and were lost. */
  readonly inWindow: number;
}

const judged = [...personsFiles, ...sharedFiles, link];

/**
 * Judges the files of a life: each is as the agent, a person or an announced choice left it. What the documentation says is
 * not known or not kept is excused: saves during a capture, and those between the last look at a file and its replacement.
 */
export function judgeTrace(lines: readonly TraceLine[]): Judgement {
  const judge = new Judge(new Timeline(lines));
  return judge.judge();
}

class Judge {
  readonly #time: Timeline;
  readonly #violations: string[] = [];
  #asPersonLeft = 0;
  #asAtCheckpoint = 0;
  #inWindow = 0;

  constructor(time: Timeline) {
    this.#time = time;
  }

  judge(): Judgement {
    this.#judgeReplacements();
    for (const finding of this.#time.findings) {
      for (const path of judged) this.#judgeFile(path, finding);
      for (const path of versionedFiles) this.#judgeVersions(path, finding);
      this.#judgeTemporary(finding);
      this.#judgeWholeTree(finding);
    }
    return {
      violations: this.#violations,
      asPersonLeft: this.#asPersonLeft,
      asAtCheckpoint: this.#asAtCheckpoint,
      inWindow: this.#inWindow,
    };
  }

  /** The library writes a new content beside a file, then looks at the file, and then puts the content in place. */
  #judgeReplacements(): void {
    const { lines } = this.#time;
    for (const [at, line] of lines.entries()) {
      if (line.kind !== "replaces") continue;
      const staged = lines.findLastIndex((one, index) => index < at && isStaging(one, line.path));
      const before = lines.findLastIndex((one, index) => index < at && isReplacement(one, line.path));
      if (line.staged && staged <= before)
        this.#violations.push(`line ${at}: ${line.path} was replaced by what nothing shows being written`);
      const needed = line.staged ? staged : lines.findLastIndex((one, index) => index < at && one.kind === "process");
      const looked = this.#time.lastLook(line.path, at);
      if (looked < 0 || looked < needed)
        this.#violations.push(`line ${at}: ${line.path} was replaced without a look at it`);
    }
  }

  #judgeFile(path: string, finding: Finding): void {
    this.#judgeForm(path, finding);
    const save = this.#lastSave(path, finding);
    if (save && save.to > finding.from) return;
    const checkpoint = this.#time.checkpoints.get(finding.rolledBackTo ?? "");
    if (save && save.to > (checkpoint?.from ?? -1)) this.#judgeSave(save, finding, checkpoint !== undefined);
    else if (checkpoint && !this.#isChosen(path, checkpoint.from, finding)) {
      const [wanted, found] = [checkpoint.files[path], finding.files[path]];
      if (wanted === found) this.#asAtCheckpoint++;
      else this.#violate(finding, `${path} is ${show(found)}, and was ${show(wanted)} at the checkpoint`);
    }
  }

  /** What a person saved last is there, unless the agent changed it and that was not rolled back. */
  #judgeSave(save: Save, finding: Finding, isRolledBack: boolean): void {
    const { path, from, content } = save;
    const found = contentIn(finding.files[path]);
    if (found === content) this.#asPersonLeft++;
    if (found === content || (!isRolledBack && this.#isActedOn(path, from, finding))) return;
    // What is saved during a capture counts as the agent's: a merge takes it back, too.
    if (this.#isDuringCapture(save)) return;
    if (this.#isMerged(save, finding)) return this.#judgeMerge(save, finding);
    if (this.#isChosen(path, from, finding) || this.#isAnswered(save, finding)) return;
    if (this.#isAsAgentLeft(save, finding)) return;
    if (this.#isInWindow(save)) this.#inWindow++;
    else this.#violate(finding, `${path} is ${show(found)}, and a person left ${show(content)}`);
  }

  /** Each file is whole, unless a command was cut short that wrote it. */
  #judgeForm(path: string, finding: Finding): void {
    const what = finding.files[path];
    if (what === undefined || what.startsWith("link to ") || this.#mayBeTorn(finding).has(path)) return;
    if (!isLinedText(contentIn(what) ?? "")) this.#violate(finding, `${path} is torn: ${show(what)}`);
  }

  #mayBeTorn(finding: Finding): ReadonlySet<string> {
    const torn = new Set<string>();
    for (const [at, line] of this.#time.lines.entries()) {
      if (line.kind !== "acts" || at > finding.to) continue;
      const isCut = this.#time.commands.some((command) => command.at === at && command.cut);
      if (isCut || line.paths.some((path) => torn.has(path))) for (const path of line.paths) torn.add(path);
    }
    return torn;
  }

  /** What was committed after a person's last save stands behind what the person saved. */
  #judgeVersions(path: string, finding: Finding): void {
    const save = this.#lastSave(path, finding);
    if (!save || save.to > finding.from || this.#isInWindow(save)) return;
    const found = contentIn(finding.files[path]) ?? "";
    const saved = save.content ?? "";
    if (!found.startsWith(saved))
      return this.#violate(finding, `${path} is ${show(found)}, and a person left ${show(saved)}`);
    this.#asPersonLeft++;
    const added = found.slice(saved.length).split("\n").slice(0, -1);
    const { acknowledged, begun } = this.#commitsAfter(save, finding);
    for (const tag of acknowledged)
      if (!added.includes(tag) && !saved.includes(`${tag}\n`)) this.#violate(finding, `${path} lacks ${tag}`);
    for (const [at, tag] of added.entries())
      if (!begun.has(tag) || added.indexOf(tag) !== at) this.#violate(finding, `${path} has ${tag}, or twice`);
  }

  #commitsAfter({ path, to }: Save, finding: Finding) {
    const acknowledged: string[] = [];
    const begun = new Set<string>();
    let startedAt = -1;
    for (const [at, line] of this.#time.lines.entries()) {
      if (at > finding.to) break;
      if (line.kind === "committing" && line.path === path) {
        begun.add(line.tag);
        startedAt = at;
      }
      if (line.kind === "committed" && line.path === path && startedAt > to) acknowledged.push(line.tag);
    }
    return { acknowledged, begun };
  }

  /** A finished write of a file leaves no temporary file of an earlier one. */
  #judgeTemporary(finding: Finding): void {
    for (const name of Object.keys(finding.files)) {
      const path = stagedFor(name);
      if (path === undefined) continue;
      const last = this.#time.lines.findLast(
        (line, at) => at < finding.from && (isStaging(line, path) || isReplacement(line, path)),
      );
      if (last?.kind === "replaced") this.#violate(finding, `${name} is left of a write of ${path}`);
    }
  }

  /** Without a person, everything is as at the checkpoint, folders included. */
  #judgeWholeTree(finding: Finding): void {
    const checkpoint = this.#time.checkpoints.get(finding.rolledBackTo ?? "");
    if (!checkpoint || this.#time.saves.some(({ from }) => from > this.#firstProcess())) return;
    const isExcused = judged.some((path) => this.#isChosen(path, checkpoint.from, finding));
    const [wanted, found] = [checkpoint.files, finding.files].map((files) =>
      Object.entries(files)
        .filter(([path]) => !path.startsWith("versions/"))
        .map((entry) => entry.join(" "))
        .sort()
        .join(),
    );
    if (!isExcused && wanted !== found)
      this.#violate(finding, `the tree is ${found}, and was ${wanted} at the checkpoint`);
  }

  #firstProcess(): number {
    return this.#time.lines.findIndex(({ kind }) => kind === "process");
  }

  #lastSave(path: string, finding: Finding): Save | undefined {
    return this.#time.saves.findLast((save) => save.path === path && save.from < finding.to);
  }

  /** A command or a tool of the agent changed a file: a tool that sees a save decides again, after it began. */
  #isActedOn(path: string, since: number, finding: Finding): boolean {
    const { lines, toolReplacements } = this.#time;
    return lines.some(
      (line, at) =>
        at > since &&
        at < finding.to &&
        ((line.kind === "acts" && line.paths.includes(path)) || (isReplacing(line, path) && toolReplacements.has(at))),
    );
  }

  /** Somebody answered what becomes of a file. */
  #isChosen(path: string, since: number, finding: Finding): boolean {
    return this.#time.lines.some(
      (line, at) => at > since && at < finding.to && line.kind === "asked" && line.path === path,
    );
  }

  /** In the same rollback somebody answered for the same content, which was saved again since. */
  #isAnswered({ path, content }: Save, finding: Finding): boolean {
    const { lines, saves } = this.#time;
    const began = lines.findLastIndex((line, at) => at < finding.to && line.kind === "rollsBack");
    return lines.some(
      (line, at) =>
        at > began &&
        at < finding.to &&
        line.kind === "asked" &&
        line.path === path &&
        saves.findLast((save) => save.path === path && save.from < at)?.content === content,
    );
  }

  #isMerged({ path, from }: Save, finding: Finding): boolean {
    const last = this.#time.lines.findLast(
      (line, at) => at > from && at < finding.to && line.kind === "asked" && line.path === path,
    );
    return finding.rolledBackTo !== undefined && last?.kind === "asked" && last.answer === "merge";
  }

  /** A merge keeps the lines that the person wrote. */
  #judgeMerge({ path, content }: Save, finding: Finding): void {
    const found = contentIn(finding.files[path]) ?? "";
    const numbers = [...(content ?? "").matchAll(/ person-(\d+)$/gm)].map(([, number]) => Number(number));
    const author = ` person-${Math.max(...numbers)}`;
    const lines = (content ?? "").split("\n").filter((line) => line.endsWith(author));
    for (const line of lines)
      if (!found.split("\n").includes(line))
        this.#violate(finding, `${path} was merged without ${JSON.stringify(line)}`);
  }

  #isDuringCapture({ from, to }: Save): boolean {
    return this.#time.captures.some((capture) => capture.to > from && capture.from < to);
  }

  /** A file that a person deletes may be as the agent left it: the agent, or a person while a command ran, deleted it before. */
  #isAsAgentLeft({ path, content, from }: Save, finding: Finding): boolean {
    const { saves } = this.#time;
    const isCounted = (save: Save) => save.path === path && save.content === null && this.#isDuringCapture(save);
    const isBefore = saves.some((save) => save.from < from && isCounted(save));
    return content === null && (isBefore || this.#isActedOn(path, -1, finding));
  }

  #isInWindow({ path, from, to }: Save): boolean {
    return this.#time.windows.some((window) => window.path === path && window.to > from && window.from < to);
  }

  #violate({ to }: Finding, what: string): void {
    this.#violations.push(`line ${to}: ${what}`);
  }
}

function isStaging(line: TraceLine, path: string): boolean {
  return line.kind === "stages" && stagedFor(line.name) === path;
}

function isReplacing(line: TraceLine, path: string): boolean {
  return line.kind === "replaces" && line.path === path;
}

function isReplacement(line: TraceLine, path: string): boolean {
  return line.kind === "replaced" && line.path === path && line.staged;
}

function show(content: string | null | undefined): string {
  return content === null || content === undefined ? "missing" : JSON.stringify(content);
}
