import type { FileState } from "../../checkpoint/data/FileChange.ts";
import type { ParticipantContext } from "../../journal/RollbackParticipant.ts";
import { fileHistories, withRedoneFiles, notedChanges } from "./FileHistory.ts";

/** A file in its state at a checkpoint. */
export type FileAtCheckpoint =
  | { readonly kind: "missing" }
  | { readonly kind: "link"; readonly target: string }
  | {
      readonly kind: "file";
      readonly content: Uint8Array;
      /** Permission bits, such as 0o644. */
      readonly mode: number;
    };

/** @returns `undefined` if the agent did not change the file or its content was pruned */
export async function fileAt(
  host: ParticipantContext,
  { agentId, checkpointId, key, path }: Readonly<Record<"agentId" | "checkpointId" | "key" | "path", string>>,
): Promise<FileAtCheckpoint | undefined> {
  const { notes, redone = [], content } = await host.request(agentId, checkpointId, key);
  const changed = withRedoneFiles(fileHistories(notes.toReversed()), fileHistories(redone));
  const since = changed.find((history) => history.path === path);
  if (since) return contentOf(since.target, content);
  const before = notedChanges(await host.notesBefore(agentId, checkpointId, key));
  const last = before.findLast((change) => change.path === path);
  return last && contentOf(last.after, content);
}

async function contentOf(
  state: FileState | undefined,
  read: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<FileAtCheckpoint | undefined> {
  if (state === undefined) return { kind: "missing" };
  if (state.kind === "link") return state;
  const content = await read(state.hash);
  return content && { kind: "file", content, mode: state.mode };
}
