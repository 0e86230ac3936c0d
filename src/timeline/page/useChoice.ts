import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Choice, choiceIn, linkTo } from "../layout/Choice.ts";

export interface ChoiceActions {
  readonly choice: Choice;
  /** Selects a step. `second` selects it for a comparison. With `open`, the details cover the list. */
  readonly choose: (key: string, second: boolean, open?: boolean) => void;
  readonly open: () => void;
  /** Makes the next selected step the second one of a comparison. */
  readonly compare: () => void;
  readonly close: () => void;
  /** Ends the comparison, or returns to the list. */
  readonly back: () => void;
}

/** Keeps the selection of the page in sync with the URL. */
export function useChoice(): ChoiceActions {
  const [choice, setChoice] = useState(() => choiceIn(location.hash));
  const { chosen, other, comparing, open: isOpen = false } = choice;
  useAddress(choice, setChoice);
  useFocus(choice);
  return {
    choice,
    choose: (key, second, open = isOpen) => {
      const isSecond = (second || comparing) && chosen !== undefined && chosen !== key;
      setChoice(isSecond ? { chosen: key, other: other ?? chosen, open } : { chosen: key, open });
    },
    open: () => {
      setChoice({ ...choice, open: true });
      focusDetails();
    },
    compare: () => setChoice({ chosen, comparing: true }),
    close: () => setChoice({ chosen }),
    back: () => setChoice(other === undefined && !comparing ? { chosen } : { chosen, open: isOpen }),
  };
}

/** Updates the URL after a selection, and the selection after a change of the URL. */
function useAddress(choice: Choice, onChoose: (choice: Choice) => void): void {
  useLayoutEffect(() => {
    const link = linkTo(choice);
    if (link !== location.hash) history.replaceState(null, "", link === "" ? location.pathname : link);
  }, [choice]);
  useLayoutEffect(() => {
    const follow = (): void => onChoose(choiceIn(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
}

/** Moves the focus to the details when they cover the list, and back to the list when the details close. */
function useFocus({ chosen, open = false }: Choice): void {
  const wasOpen = useRef(open);
  useLayoutEffect(() => {
    const list = document.querySelector(".list");
    const isCovered = list !== null && getComputedStyle(list).visibility === "hidden";
    const isInDetails = document.querySelector("aside")?.contains(document.activeElement) === true;
    if (isCovered && !isInDetails) focusDetails();
    else if (wasOpen.current && !open && !isCovered) focusList();
    wasOpen.current = open;
  }, [chosen, open]);
}

function focusDetails(): void {
  document.querySelector<HTMLElement>("aside h2")?.focus();
}

interface KeyActions {
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

/** Focuses the list, which then handles the next key. */
function focusList(): void {
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
  // While the details have the focus, other keys scroll and switch tabs.
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
