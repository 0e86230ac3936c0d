import ignore, { type Ignore } from "ignore";

/** Rules of one folder, for paths below it. */
interface FolderRules {
  /** Where the part of a path that they judge begins. */
  readonly offset: number;
  readonly rules: Ignore;
}

/**
 * Which paths a scan passes over: what the `.gitignore` files on the way say, the innermost last, and own rules after
 * those. A later rule may take back what an earlier one ignored, as in git; below a folder that is ignored nothing is
 * looked at.
 */
export class IgnoreRules {
  readonly #own: FolderRules;
  readonly #folders: readonly FolderRules[];

  private constructor(own: FolderRules, folders: readonly FolderRules[]) {
    this.#own = own;
    this.#folders = folders;
  }

  /** @param own patterns in the form of a `.gitignore` in the root. */
  static of(own: readonly string[]): IgnoreRules {
    return new IgnoreRules({ offset: 0, rules: rulesOf([...own]) }, []);
  }

  /** The rules below a folder that has a `.gitignore`. @param folder its path; empty for the root. */
  within(folder: string, gitignore: string): IgnoreRules {
    const offset = folder === "" ? 0 : folder.length + 1;
    return new IgnoreRules(this.#own, [...this.#folders, { offset, rules: rulesOf(gitignore) }]);
  }

  ignores(path: string, isFolder: boolean): boolean {
    let ignored = false;
    for (const { offset, rules } of [...this.#folders, this.#own]) {
      const { ignored: leaves, unignored: keeps } = rules.test(`${path.slice(offset)}${isFolder ? "/" : ""}`);
      if (leaves) ignored = true;
      if (keeps) ignored = false;
    }
    return ignored;
  }
}

function rulesOf(patterns: string | readonly string[]): Ignore {
  return ignore({ ignorecase: false }).add(patterns);
}
