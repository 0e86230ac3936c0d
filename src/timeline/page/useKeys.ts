import { useLayoutEffect } from "preact/hooks";

export interface KeyActions {
  /** The keys of the visible items in order. */
  readonly keys: readonly string[];
  readonly chosen: string | undefined;
  readonly onChoose: (key: string, second: boolean) => void;
  readonly onOpen: () => void;
  readonly onEscape: () => void;
}

const pageOfRows = 10;

/** Handles keys on the whole page, starting before the first paint. */
export function useKeys(actions: KeyActions): void {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Escape") return escape(actions);
      if (isIn(event, "input, select")) return;
      if (event.key === "/") {
        event.preventDefault();
        document.getElementById("search")?.focus();
      } else if (event.key === "Enter") {
        if (actions.chosen !== undefined && !isIn(event, "button, a, aside")) actions.onOpen();
      } else move(event, actions);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });
}

/** Focuses the list, so that it handles the next key. */
export function focusList(): void {
  document.querySelector<HTMLElement>(".list")?.focus({ preventScroll: true });
}

function isIn({ target }: Event, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null;
}

function escape({ onEscape }: KeyActions): void {
  onEscape();
  focusList();
}

function move(event: KeyboardEvent, { keys, chosen, onChoose }: KeyActions): void {
  const isInDetails = isIn(event, "aside");
  // In the details, other keys scroll and switch tabs.
  if (isInDetails && event.key !== "j" && event.key !== "k") return;
  const key = keyAfter(event.key, keys, chosen);
  if (key === undefined) return;
  event.preventDefault();
  if (!isInDetails) focusList();
  onChoose(key, event.shiftKey);
}

function keyAfter(pressed: string, keys: readonly string[], chosen: string | undefined): string | undefined {
  const now = keys.indexOf(chosen ?? "");
  const to: Readonly<Record<string, number>> = {
    ArrowDown: now + 1,
    j: now + 1,
    ArrowUp: Math.max(0, now - 1),
    k: Math.max(0, now - 1),
    PageDown: now + pageOfRows,
    PageUp: Math.max(0, now - pageOfRows),
    Home: 0,
    End: keys.length - 1,
  };
  const index = Object.hasOwn(to, pressed) ? to[pressed] : undefined;
  return index === undefined ? undefined : keys[Math.min(index, keys.length - 1)];
}
