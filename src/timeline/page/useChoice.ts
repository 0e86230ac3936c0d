import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Choice, choiceIn, linkTo } from "../layout/Choice.ts";
import { focusList } from "./useKeys.ts";

/** What is chosen, and what changes it. */
export interface ChoiceActions {
  readonly choice: Choice;
  /** @param second the step is the one to compare with. @param open whether its details may cover the list. */
  readonly choose: (key: string, second: boolean, open?: boolean) => void;
  /** Goes to the details. */
  readonly open: () => void;
  /** Makes the next choice the second one. */
  readonly compare: () => void;
  /** Goes back to the list. */
  readonly close: () => void;
  /** Ends a comparison, or goes back to the list. */
  readonly back: () => void;
}

/** The choice of a page: it begins as the address says, and the address follows it. */
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

/** Keeps the address at what is chosen, and the choice at what the address says. */
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

/** Details that cover the list have the focus. The list has it again once they are closed. */
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
