import ignore, { type Ignore } from "ignore";
import type { GitView } from "./GitView.ts";
import { foldersAbove } from "../files/relativePath.ts";

interface FolderRules {
  /** The start index of the part of a path below the directory. */
  readonly offset: number;
  readonly text: string;
  readonly rules: Ignore;
}

/** The rules of a repository for a directory in its work tree. Paths are relative to the top of the work tree. */
interface GitRules {
  readonly folders: readonly FolderRules[];
  /** Whether the directory is ignored but contains tracked files. Untracked files in such a directory are ignored. */
  readonly isIgnored: boolean;
}

/** The maximum length of a pattern, which limits the size of regular expressions. Linux paths are not longer. */
const longestPattern = 4_096;
/** The maximum number of patterns of a scan, because each becomes a regular expression. */
export const mostPatterns = 10_000;
/** The maximum number of results that parsed rules cache. Rules with more results are parsed again. */
const mostResults = 200_000;

/** Parsed rules by their text. Reused in later scans, because they cache their results. */
class ParsedRules {
  #left = mostPatterns;
  #results = 0;
  #size = 0;
  readonly #rules = new Map<string, Ignore>();

  startScan(): void {
    this.#left = mostPatterns;
    if (this.#results > mostResults) this.#forget();
  }

  /** Returns the patterns of a file up to the limit of the scan. */
  patternsIn(text: string): { readonly text: string; readonly isCut: boolean } {
    const patterns = text.split(/\r?\n/, this.#left + 1);
    const isCut = patterns.length > this.#left;
    this.#left -= Math.min(patterns.length, this.#left);
    return isCut ? { text: patterns.slice(0, -1).join("\n"), isCut } : { text, isCut };
  }

  of(folder: string, text: string, ignoresCase: boolean): FolderRules {
    const key = `${folder}\0${ignoresCase}\0${text}`;
    let rules = this.#rules.get(key);
    if (!rules) {
      if (this.#size > mostResults) this.#forget();
      const patterns = text.split(/\r?\n/).filter((pattern) => pattern.length <= longestPattern);
      rules = ignore({ ignorecase: ignoresCase }).add(patterns);
      this.#rules.set(key, rules);
      this.#size += patterns.length;
    }
    return { offset: folder.length, text, rules };
  }

  noteResults(count: number): void {
    this.#results += count;
  }

  #forget(): void {
    this.#rules.clear();
    this.#results = this.#size = 0;
  }
}
const noRules: GitRules = { folders: [], isIgnored: false };

/**
 * Decides which paths a scan skips: first by git's rules, then by the rules of the workspace. As in git, a later rule
 * can include ignored paths again, except below an ignored directory. Git's rules never ignore tracked files.
 */
export class IgnoreRules {
  private constructor(
    readonly git: GitRules,
    readonly own: readonly FolderRules[],
    readonly view: Pick<GitView, "prefix" | "tracked" | "ignoresCase">,
    readonly parsed: ParsedRules,
    /** Whether the last added file exceeds the limit of patterns. */
    readonly isCut = false,
  ) {}

  /** @param own patterns in the format of a `.gitignore` in the root */
  static of(own: readonly string[]): IgnoreRules {
    const parsed = new ParsedRules();
    const rules = own.length > 0 ? [parsed.of("", own.join("\n"), false)] : [];
    return new IgnoreRules(noRules, rules, { prefix: "", tracked: new Set(), ignoresCase: false }, parsed);
  }

  /** Returns the rules at the start of a scan, with those of the repository. */
  forScan(view: GitView | undefined): IgnoreRules {
    this.parsed.startScan();
    const own = this.own.map(({ text }) => this.parsed.of("", text, false));
    const rules = new IgnoreRules(noRules, own, this.view, this.parsed);
    return view ? rules.#inRepository(view) : rules;
  }

  /** Adds the rules of a repository. If the repository ignores the root, its rules do not apply inside the root. */
  #inRepository(view: GitView): IgnoreRules {
    let rules = new IgnoreRules(noRules, [], { ...view, prefix: "" }, this.parsed);
    for (const text of view.excludes) rules = rules.within("", text);
    const root = view.prefix.slice(0, -1);
    for (const folder of root === "" ? [] : [...foldersAbove(root), root]) {
      const above = folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
      const text = view.above.get(above);
      if (text !== undefined) rules = rules.within(above, text);
      if (rules.#isIgnoredByGit(folder, true))
        return new IgnoreRules(noRules, this.own, { ...view, prefix: "" }, this.parsed);
      rules = rules.below(folder);
    }
    return new IgnoreRules(rules.git, this.own, view, this.parsed);
  }

  /** Adds the rules of a `.gitignore` in a directory. The path of the root is empty. */
  within(folder: string, gitignore: string): IgnoreRules {
    const at = folder === "" ? this.view.prefix : `${this.view.prefix}${folder}/`;
    const { text, isCut } = this.parsed.patternsIn(gitignore);
    const folders = [...this.git.folders, this.#parse(at, text)];
    return new IgnoreRules({ ...this.git, folders }, this.own, this.view, this.parsed, isCut);
  }

  /**
   * Returns the rules for the contents of a directory that is not skipped. If an inner rule includes a directory that
   * an outer rule ignores, the outer rule gets a pattern that includes this directory, because otherwise the `ignore`
   * package would ignore everything in the directory.
   */
  below(folder: string): IgnoreRules {
    if (this.git.isIgnored) return this;
    const at = `${this.view.prefix}${folder}/`;
    const isIgnoring = ({ offset, rules }: FolderRules) => rules.test(at.slice(offset)).ignored;
    const isOwn = ({ offset, rules }: FolderRules) => rules.test(`${folder}/`.slice(offset)).ignored;
    if (!this.git.folders.some(isIgnoring) && !this.own.some(isOwn)) return this;
    const isIgnored = this.#isIgnoredByGit(folder, true) && verdict(this.own, `${folder}/`) === undefined;
    const folders = this.git.folders.map((judge) => (isIgnoring(judge) ? this.#including(judge, at) : judge));
    const own = this.own.map((judge) => (isOwn(judge) ? this.#including(judge, `${folder}/`) : judge));
    return new IgnoreRules({ folders, isIgnored }, own, this.view, this.parsed);
  }

  #including({ offset, text }: FolderRules, folder: string): FolderRules {
    const pattern = `!/${folder.slice(offset).replaceAll(/[\\*?[\]!# ]/g, "\\$&")}`;
    return this.#parse(folder.slice(0, offset), `${text}\n${pattern}`);
  }

  #parse(folder: string, text: string): FolderRules {
    return this.parsed.of(folder, text, this.view.ignoresCase);
  }

  ignores(path: string, isFolder: boolean): boolean {
    this.parsed.noteResults(this.own.length + this.git.folders.length);
    const own = verdict(this.own, isFolder ? `${path}/` : path);
    if (own !== undefined) return own;
    return this.#isIgnoredByGit(path, isFolder) && !this.view.tracked.has(path);
  }

  #isIgnoredByGit(path: string, isFolder: boolean): boolean {
    return this.git.isIgnored || verdict(this.git.folders, `${this.view.prefix}${path}${isFolder ? "/" : ""}`) === true;
  }
}

/** Returns the result of the last matching rule, or `undefined` without a match. */
function verdict(judges: readonly FolderRules[], path: string): boolean | undefined {
  let ignored: boolean | undefined;
  for (const { offset, rules } of judges) {
    const { ignored: leaves, unignored: keeps } = rules.test(path.slice(offset));
    if (leaves) ignored = true;
    if (keeps) ignored = false;
  }
  return ignored;
}
