// Calendar shows the usage of each day of the last year: a column for each week.
import { cost, count, longDay, monthName, plural, tokens } from "../../format";
import type { UsageDay } from "../../wire";
import { Section } from "../parts";
import { dayOf, midnight } from "./days";

const weeks = 53;
const cell = 12;
const left = 28;
const top = 16;

// levelOf returns a function that maps a value to a level from 1 to 4, by quartiles.
function levelOf(values: number[]): (value: number) => number {
  const sorted = values.filter((v) => v > 0).sort((a, b) => a - b);
  const limits = [0.25, 0.5, 0.75].map((q) => sorted[Math.floor(q * (sorted.length - 1))] ?? 0);
  return (value) => (value > 0 ? 1 + limits.filter((l) => value > l).length : 0);
}

export function Calendar({ days, measure }: { days: UsageDay[]; measure: "tokens" | "cost" }) {
  const value = (d: UsageDay | undefined) => (d ? (measure === "cost" ? d.cost : d.tokens) : 0);
  const byDay = new Map(days.map((d) => [d.day, d]));
  const level = levelOf(days.map(value));
  const today = midnight(0);
  // Weeks start on Monday; the last column has today.
  const last = weeks * 7 - 7 + ((today.getDay() + 6) % 7);
  const cells = [];
  const months = [];
  for (let i = 0; i <= last; i++) {
    const at = midnight(last - i);
    const d = byDay.get(dayOf(at));
    const week = Math.floor(i / 7);
    if (at.getDate() === 1 && week < weeks - 1) months.push({ x: left + week * cell, name: monthName(at) });
    cells.push(
      <rect key={i} data-day={dayOf(at)} class={"heat heat-" + level(value(d))} x={left + week * cell} y={top + (i % 7) * cell} width={cell - 2} height={cell - 2} rx="2">
        <title>{`${longDay(at)}: ${d ? `${plural(d.answers, "answer")}, ${tokens(d.tokens)} tokens, ${cost(d.cost)}` : "nothing"}`}</title>
      </rect>,
    );
  }
  const label = `${plural(days.length, "day")} with usage in the last year, ${count(days.reduce((n, d) => n + d.answers, 0))} answers. The table by day has the numbers.`;
  return (
    <Section title="Last year" note={measure === "cost" ? "cost by day" : "tokens by day"}>
      <div class="scroll-x calendar-box" tabIndex={0} role="region" aria-label="Calendar of usage">
        <svg class="calendar" role="img" aria-label={label} width={left + weeks * cell} height={top + 7 * cell} viewBox={`0 0 ${left + weeks * cell} ${top + 7 * cell}`}>
          {months.map((m) => (
            <text key={m.x} x={m.x} y="10">
              {m.name}
            </text>
          ))}
          {["Mon", "Wed", "Fri"].map((name, i) => (
            <text key={name} x="0" y={top + (2 * i + 1) * cell - 3}>
              {name}
            </text>
          ))}
          {cells}
        </svg>
      </div>
    </Section>
  );
}
