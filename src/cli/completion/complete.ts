import type { Command } from "commander";
import { inspect } from "../../inspect.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { unmarked } from "../ids/dashedIds.ts";
import { findAgent } from "../ids/findAgent.ts";
import { newestCheckpoints } from "../ids/newestCheckpoints.ts";
import { type CommonOptions, Session } from "../session/Session.ts";
import { visibleText } from "../terminal/visibleText.ts";
import { completionsFor } from "./completionsFor.ts";

/** No shell shows more in time. */
const mostIds = 200;

/** `complete -- <words>`: what a shell asks for. It answers nothing where it cannot: nobody looks at errors then. */
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
    // A word with controls could do something in a terminal.
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
