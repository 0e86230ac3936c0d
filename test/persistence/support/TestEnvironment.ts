import type { Environment } from "agent-persistence";

/** An environment that a test changes. Hashes stand for contents. */
export class TestEnvironment implements Environment {
  readonly workingDirectory: string;
  readonly files = new Map<string, string>();
  readonly versions = new Map<string, string>();
  readonly directories: Set<string>;
  looks = 0;

  constructor(workingDirectory = "/project") {
    this.workingDirectory = workingDirectory;
    this.directories = new Set([workingDirectory]);
  }

  async hasDirectory(path: string): Promise<boolean> {
    return this.directories.has(path);
  }
  async hashOf(path: string, directory: string): Promise<string | undefined> {
    this.looks++;
    return this.files.get(`${directory}/${path}`);
  }
  async lookUp(name: string, wanted: string) {
    const found = this.versions.get(name);
    return { ...(found !== undefined && { found }), satisfied: found === wanted };
  }

  /** What the agent of `requiringAgent` finds, and its first node changes. */
  static readable(): TestEnvironment {
    const environment = new TestEnvironment();
    environment.files.set("/project/read.txt", "r1");
    environment.files.set("/project/written.txt", "w1");
    environment.versions.set("node", "22");
    return environment;
  }
}
