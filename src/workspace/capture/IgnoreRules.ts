import ignore, { type Ignore } from "ignore";
import type { GitView } from "./GitView.ts";
import { foldersAbove } from "../files/relativePath.ts";

interface FolderRules {
  /** The index in a path at which the part below the folder begins. */
  readonly offset: number;
  /** The patterns. */
  readonly text: string;
  readonly rules: Ignore;
}

/** The rules of a repository at a folder in it. Paths begin at the top of its work tree. */
interface GitRules {
  /** Outermost first. */
  readonly folders: readonly FolderRules[];
  /** The folder is ignored and has tracked files: nothing else in it counts. */
  readonly isIgnored: boolean;
}

/** A regular expression of a longer pattern may be too large, and no path of Linux is longer. */
const longestPattern = 4_096;
const noRules: GitRules = { folders: [], isIgnored: false };

/**
 * The paths that a scan skips: by the rules of git, and then by the rules of the workspace. As in git, a later rule can include
 * what an earlier rule ignored, but nothing below an ignored folder. Rules of git do not ignore tracked files.
 */
export class IgnoreRules {
  private constructor(
    readonly git: GitRules,
    readonly own: readonly FolderRules[],
    readonly view: Pick<GitView, "prefix" | "tracked" | "ignoresCase">,
    /** Parsed rules by their text: they cache their answers, and most are the same in the next scan. */
    readonly parsed: Map<string, Ignore>,
  ) {}

  /** @param own patterns in the form of a `.gitignore` in the root. */
  static of(own: readonly string[]): IgnoreRules {
    const text = own.join("\n");
    const rules = own.length > 0 ? [{ offset: 0, text, rules: rulesOf(text, false) }] : [];
    return new IgnoreRules(noRules, rules, { prefix: "", tracked: new Set(), ignoresCase: false }, new Map());
  }

  /** These rules for a root in a repository. If the repository ignores the root itself, none of its rules counts in it. */
  inRepository(view: GitView): IgnoreRules {
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

  /** The rules below a folder that has a `.gitignore`. @param folder its path; empty for the root. */
  within(folder: string, gitignore: string): IgnoreRules {
    const at = folder === "" ? this.view.prefix : `${this.view.prefix}${folder}/`;
    const folders = [...this.git.folders, this.#parse(at, gitignore)];
    return new IgnoreRules({ ...this.git, folders }, this.own, this.view, this.parsed);
  }

  /**
   * The rules below a folder that is not skipped. Where an outer rule ignores the folder and an inner one includes it again,
   * the paths in it are judged by themselves: to `ignore` all of them would be ignored with the folder.
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
    const key = `${folder}\0${this.view.ignoresCase}\0${text}`;
    const rules = this.parsed.get(key) ?? rulesOf(text, this.view.ignoresCase);
    this.parsed.set(key, rules);
    return { offset: folder.length, text, rules };
  }

  ignores(path: string, isFolder: boolean): boolean {
    const own = verdict(this.own, isFolder ? `${path}/` : path);
    if (own !== undefined) return own;
    return this.#isIgnoredByGit(path, isFolder) && !this.view.tracked.has(path);
  }

  #isIgnoredByGit(path: string, isFolder: boolean): boolean {
    return this.git.isIgnored || verdict(this.git.folders, `${this.view.prefix}${path}${isFolder ? "/" : ""}`) === true;
  }
}

/** Whether the last rule that matches ignores the path. `undefined` if no rule matches. */
function verdict(judges: readonly FolderRules[], path: string): boolean | undefined {
  let ignored: boolean | undefined;
  for (const { offset, rules } of judges) {
    const { ignored: leaves, unignored: keeps } = rules.test(path.slice(offset));
    if (leaves) ignored = true;
    if (keeps) ignored = false;
  }
  return ignored;
}

function rulesOf(text: string, ignorecase: boolean): Ignore {
  const patterns = text.split(/\r?\n/).filter((pattern) => pattern.length <= longestPattern);
  return ignore({ ignorecase }).add(patterns);
}
