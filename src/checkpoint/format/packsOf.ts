import { concatenated } from "../../internal/bytes.ts";

/** A pack is closed when it has this many bytes: what is read at once to get at one content stays small. */
const packBytes = 4 * 1024 * 1024;

/** Contents laid end to end, in as few packs as their size allows: syncing one blob costs what syncing a small one does. */
export function packsOf(
  contents: readonly (readonly [hash: string, bytes: Uint8Array])[],
): readonly { readonly bytes: Uint8Array; readonly contents: readonly (readonly [hash: string, bytes: number])[] }[] {
  const groups: (readonly [hash: string, bytes: Uint8Array])[][] = [];
  let filled = Infinity;
  for (const content of contents) {
    if (filled >= packBytes) {
      groups.push([]);
      filled = 0;
    }
    groups.at(-1)?.push(content);
    filled += content[1].length;
  }
  return groups.map((group) => ({
    bytes: concatenated(group.map(([, bytes]) => bytes)),
    contents: group.map(([hash, bytes]) => [hash, bytes.length] as const),
  }));
}
