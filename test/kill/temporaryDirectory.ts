import { cp, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), "agent-persistence-kill-"));
}

/** A directory with the same content. */
export async function temporaryCopy(original: string): Promise<string> {
  const directory = await temporaryDirectory();
  await cp(original, directory, { recursive: true });
  return directory;
}
