// The theme: as the system has it, or as the reader chose.

import { createContext } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Palette, Theme, palette } from "./colors";

const stored = "hone-theme";
const storedColors = "hone-colors";

// A saved page may have been made dark.
const given: Theme = document.documentElement.dataset.theme === "dark" ? "dark" : "auto";

export const PaletteContext = createContext<Palette>(palette("auto", false));

let safe = false; // whether colors are those that people with color blindness can tell apart
try {
  safe = localStorage.getItem(storedColors) === "safe";
} catch {
  // Reading what is stored fails where pages are not allowed to store.
}
const followers = new Set<() => void>();

export function safeColors(): boolean {
  return safe;
}

/** setSafeColors chooses colors that people with color blindness can tell apart, for all pages of this browser. */
export function setSafeColors(on: boolean): void {
  safe = on;
  try {
    localStorage.setItem(storedColors, on ? "safe" : "");
  } catch {
    // The choice holds for as long as the page is open.
  }
  for (const f of followers) f();
}

let onPaper = false;

/** printing is true while the page is made ready for paper: what is not painted at once is not on it. */
export function printing(): boolean {
  return onPaper;
}

export function useTheme(): [Theme, () => void, Palette] {
  const [theme, setTheme] = useState<Theme>(() => {
    // Reading what is stored fails where pages are not allowed to store.
    try {
      const t = localStorage.getItem(stored);
      return t === "light" || t === "dark" || t === "auto" ? t : given;
    } catch {
      return given;
    }
  });
  const [colors, setColors] = useState(() => palette(theme, safe));
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const again = () => {
      if (safe) document.documentElement.dataset.colors = "safe";
      else delete document.documentElement.dataset.colors;
      setColors(palette(theme, safe));
    };
    const paper = () => {
      onPaper = true;
      setColors(palette("light", safe));
    };
    const screen = () => {
      onPaper = false;
      again();
    };
    again();
    followers.add(again);
    const media = [matchMedia("(prefers-color-scheme: dark)"), matchMedia("(forced-colors: active)")];
    for (const m of media) m.addEventListener("change", again);
    addEventListener("beforeprint", paper);
    addEventListener("afterprint", screen);
    return () => {
      followers.delete(again);
      for (const m of media) m.removeEventListener("change", again);
      removeEventListener("beforeprint", paper);
      removeEventListener("afterprint", screen);
    };
  }, [theme]);
  const next = () => {
    const chosen = theme === "auto" ? "light" : theme === "light" ? "dark" : "auto";
    setTheme(chosen);
    try {
      localStorage.setItem(stored, chosen);
    } catch {
      // The choice holds for as long as the page is open.
    }
  };
  return [theme, next, colors];
}
