import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Choice, choiceIn, linkTo } from "../layout/Choice.ts";
import { focusList } from "./useKeys.ts";

export interface ChoiceActions {
  readonly choice: Choice;
  /** Selects a step. `second` selects the step to compare with, and `open` lets the details cover the list. */
  readonly choose: (key: string, second: boolean, open?: boolean) => void;
  readonly open: () => void;
  /** Makes the next selection the second one. */
  readonly compare: () => void;
  readonly close: () => void;
  /** Ends a comparison or returns to the list. */
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

/** Moves the focus to details that cover the list, and back to the list when they close. */
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
