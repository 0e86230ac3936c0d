import { existsSync, lstatSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isLinedText, linedText, withLine } from "./linedText.ts";
import { personsFiles, sharedFiles, versionedFiles } from "./paths.ts";
import type { TraceFile } from "./trace/TraceFile.ts";

const files = [...personsFiles, ...sharedFiles, ...sharedFiles, ...versionedFiles];

/** Somebody who edits files with an editor that saves by renaming. */
export class Person {
  readonly #root: string;
  readonly #spare: string;
  readonly #trace: TraceFile;
  readonly #random: () => number;
  #saves = 0;

  /** @param spare where the editor writes before it renames, outside the root. */
  constructor(root: string, spare: string, trace: TraceFile, random: () => number) {
    this.#root = root;
    this.#spare = spare;
    this.#trace = trace;
    this.#random = random;
  }

  /**
   * Edits a line of a file, rewrites a file, or deletes one. A command writes in place: who edits a line of what it has
   * written so far leaves a torn file. So the person edits whole texts only.
   */
  edit(): void {
    const path = files[Math.floor(this.#random() * files.length)] ?? "a";
    if (!existsSync(join(this.#root, dirname(path)))) return;
    const author = `person-${++this.#saves}`;
    const content = this.#read(path);
    const choice = this.#random();
    const isHalf = content !== undefined && sharedFiles.includes(path) && !isLinedText(content);
    if (content === undefined) this.#save(path, linedText(author));
    else if (choice < 0.1) this.#save(path, null);
    else if (choice < 0.3 || isHalf) this.#save(path, linedText(author));
    else this.#save(path, withLine(content, 6 + Math.floor(this.#random() * 6), author));
  }

  save(path: string, content: string): void {
    this.#save(path, content);
  }

  #read(path: string): string | undefined {
    try {
      const at = join(this.#root, path);
      return lstatSync(at).isFile() ? readFileSync(at, "utf8") : undefined;
    } catch {
      return undefined;
    }
  }

  #save(path: string, content: string | null): void {
    const at = join(this.#root, path);
    const draft = join(this.#spare, "draft");
    if (content !== null) writeFileSync(draft, content);
    this.#trace.add({ kind: "saving", path, content });
    try {
      if (content === null) unlinkSync(at);
      else renameSync(draft, at);
    } catch {
      // The agent moved the folder or the file away at this moment: nothing was saved, or nothing is there.
      return;
    }
    this.#trace.add({ kind: "saved", path, content });
  }
}
