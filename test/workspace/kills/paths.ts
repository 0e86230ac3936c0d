import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";

/** Files that only a person changes. */
export const personsFiles = ["own/1", "own/2"];
/** Files that the agent and a person change. */
export const sharedFiles = ["a", "b", "c", "d/e", "made/f"];
/** A link that only the agent makes. */
export const link = "link";
/** Files that are only committed to, and that a person changes. No rollback is about them. */
export const versionedFiles = ["versions/v1", "versions/v2"];

/** The beginning of the names of temporary files, by the file that they become. */
const prefixes = new Map(
  [...personsFiles, ...sharedFiles, ...versionedFiles, link].map((path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return [nodeSha256.hex(name).slice(0, 16), path];
  }),
);

/** The file that a temporary file is for; `undefined`: it is no temporary file. */
export function stagedFor(path: string): string | undefined {
  const [, prefix = ""] = /\.([0-9a-f]{16})-[0-9a-f]{16}\.agent-tmp$/.exec(path) ?? [];
  return prefixes.get(prefix);
}
