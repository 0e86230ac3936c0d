import { isAgentFolderName } from "../layout/AgentFolder.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { inTurn } from "./inTurn.ts";
import { readListed } from "./readListed.ts";

/** Marks every stored agent in an index whose folder is there already: owners mark what they change from now on. */
export async function markAgents(backend: FileBackend): Promise<void> {
  const names = (await backend.disk.readdir(backend.tasks)) ?? [];
  await inTurn(names.filter(isAgentFolderName), (name) => markAgent(backend, name));
}

/** Of an agent whose status is about to change, both statuses: its owner may have looked for the index before it was there. */
async function markAgent(backend: FileBackend, name: string): Promise<void> {
  const { index } = backend;
  const { summary, pending, dropped } = await readListed(backend, name);
  if (summary) await index.mark(name, { summary, generation: 0 });
  if (pending) await index.mark(name, pending);
  if (dropped && !pending) await index.markDropped(name);
}
