import type { Command } from "commander";
import { inspect } from "../../inspect.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { unmarked } from "../ids/dashedIds.ts";
import { findAgent } from "../ids/findAgent.ts";
import { newestCheckpoints } from "../ids/newestCheckpoints.ts";
import { type CommonOptions, Session } from "../session/Session.ts";
import { visibleText } from "../terminal/visibleText.ts";
import { completionsFor } from "./completionsFor.ts";

/** The maximum number of suggested ids. */
const mostIds = 200;

/** `complete -- <words>`: called by shells. Prints no errors, because the shell would hide them. */
export function completeFor(program: Command) {
  return async ({ io, output }: Session, _options: CommonOptions, words: readonly string[]): Promise<void> => {
    const found = await completionsFor(program, words.map(unmarked), async (what, given, storage) => {
      try {
        await using session = new Session(io, { storage });
        return await idsOf(await session.storage(), what, given);
      } catch {
        return [];
      }
    });
    // Words with control characters could affect the terminal.
    for (const word of found) if (visibleText(word) === word) await output.line(word);
  };
}

async function idsOf(
  storage: PersistenceStorageProvider,
  what: string,
  [given]: readonly string[],
): Promise<readonly string[]> {
  const view = inspect(storage);
  const ids: string[] = [];
  if (what === "agent" || what === "task") {
    for await (const { agentId } of view.agents({ limit: mostIds })) ids.push(agentId);
  } else if (["checkpoint", "from", "to"].includes(what) && given !== undefined) {
    const { checkpoints } = await newestCheckpoints(view, await findAgent(storage, given), mostIds);
    ids.push(
      ...checkpoints.flatMap(({ checkpointId, name }) => (name === undefined ? checkpointId : [checkpointId, name])),
    );
  }
  return ids;
}
