import ignore, { type Ignore } from "ignore";

interface FolderRules {
  /** The index in a path at which the part below the folder begins. */
  readonly offset: number;
  /** The patterns. */
  readonly text: string;
  readonly rules: Ignore;
}

/**
 * The paths that a scan skips: by the `.gitignore` files on the way, the innermost last, and then by the rules of the
 * workspace. As in git, a later rule can include what an earlier rule ignored, but nothing below an ignored folder.
 */
export class IgnoreRules {
  private constructor(
    readonly folders: readonly FolderRules[],
    readonly own: readonly FolderRules[],
    /** Parsed rules by their text: they cache their answers, and most are the same in the next scan. */
    readonly parsed: Map<string, Ignore>,
  ) {}

  /** @param own patterns in the form of a `.gitignore` in the root. */
  static of(own: readonly string[]): IgnoreRules {
    const text = own.join("\n");
    return new IgnoreRules([], own.length > 0 ? [{ offset: 0, text, rules: rulesOf(text) }] : [], new Map());
  }

  /** The rules below a folder that has a `.gitignore`. @param folder its path; empty for the root. */
  within(folder: string, gitignore: string): IgnoreRules {
    const offset = folder === "" ? 0 : folder.length + 1;
    return new IgnoreRules([...this.folders, this.#parse(folder, offset, gitignore)], this.own, this.parsed);
  }

  /**
   * The rules below a folder that is not ignored. Where an outer rule ignores the folder and an inner one includes it again,
   * what is in it is judged by itself: to `ignore` all of it would be ignored with the folder.
   */
  below(folder: string): IgnoreRules {
    const isIgnoring = ({ offset, rules }: FolderRules) => rules.test(`${folder.slice(offset)}/`).ignored;
    if (![...this.folders, ...this.own].some(isIgnoring)) return this;
    const included = (judge: FolderRules): FolderRules => {
      if (!isIgnoring(judge)) return judge;
      const pattern = `!/${folder.slice(judge.offset).replaceAll(/[\\*?[\]!# ]/g, "\\$&")}/`;
      return this.#parse(folder, judge.offset, `${judge.text}\n${pattern}`);
    };
    return new IgnoreRules(this.folders.map(included), this.own.map(included), this.parsed);
  }

  #parse(folder: string, offset: number, text: string): FolderRules {
    const key = `${folder}\0${offset}\0${text}`;
    const rules = this.parsed.get(key) ?? rulesOf(text);
    this.parsed.set(key, rules);
    return { offset, text, rules };
  }

  ignores(path: string, isFolder: boolean): boolean {
    const judges = this.own.length > 0 ? [...this.folders, ...this.own] : this.folders;
    let ignored = false;
    for (const { offset, rules } of judges) {
      const { ignored: leaves, unignored: keeps } = rules.test(`${path.slice(offset)}${isFolder ? "/" : ""}`);
      if (leaves) ignored = true;
      if (keeps) ignored = false;
    }
    return ignored;
  }
}

function rulesOf(patterns: string): Ignore {
  return ignore({ ignorecase: false }).add(patterns);
}
