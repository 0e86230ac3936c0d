import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const greetings = `export function greet(name) {
  return "Hello " + name;
}

// What is said at the end of the day.

export function farewell(name) {
  return "Bye " + name;
}
`;
const test = `import { equal } from "node:assert/strict";
import { test } from "node:test";
import { greet } from "../src/greetings.mjs";

test("greets by name", () => equal(greet("Ada").endsWith("Ada"), true));
`;

export const greetingsFile = "src/greetings.mjs";

/** A small git repository with one commit on `main`. */
export class Repository {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  static create(root: string): Repository {
    const repository = new Repository(root);
    repository.write(greetingsFile, greetings);
    repository.write("test/greetings.test.mjs", test);
    repository.git("init", "--quiet", "--initial-branch=main");
    repository.git("config", "user.name", "Demo");
    repository.git("config", "user.email", "demo@example.org");
    repository.git("add", "--all");
    repository.git("commit", "--quiet", "--message=Greetings");
    return repository;
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  /** What a person does in an editor. */
  replace(path: string, oldText: string, newText: string): void {
    const text = this.read(path);
    if (!text.includes(oldText)) throw new Error(`${path} does not hold ${JSON.stringify(oldText)}`);
    this.write(path, text.replace(oldText, newText));
  }

  get branches(): readonly string[] {
    return this.git("branch", "--format=%(refname:short)").split("\n").filter(Boolean);
  }

  /** Files that differ from the last commit, or are not in it. */
  get changed(): readonly string[] {
    return this.git("status", "--porcelain", "--untracked-files=all")
      .split("\n")
      .filter(Boolean)
      .map((line) => line.slice(3));
  }

  git(...args: readonly string[]): string {
    return execFileSync("git", args, { cwd: this.root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }
}
