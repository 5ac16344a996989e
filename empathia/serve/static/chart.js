// The feeling over the person's messages: how good it is, from bottom to top, and its name under each point.

import { svg } from "./dom.js";
import { percent } from "./evidence.js";

const WIDTH = 320, HEIGHT = 144, LEFT = 36, SIDE = 34, TOP = 14, BOTTOM = 98, LETTER = 3.4;
const SHOWN = 6; // points that fit, with their names

// points: [{number, emotion, polarity, selected}]
export function feelingChart(points) {
  const last = points.slice(-SHOWN);
  const step = (WIDTH - LEFT - 2 * SIDE) / (Math.max(last.length, 4) - 1);
  const x = (i) => LEFT + SIDE + i * step;
  // Where neighbours' names would meet, they stand on two lines.
  const crowded = last.some((p, i) => i && (p.emotion.length + last[i - 1].emotion.length) * LETTER > step);
  const y = (polarity) => BOTTOM - polarity * (BOTTOM - TOP);
  const line = (y1, kind) => svg("line", { class: kind, x1: LEFT, x2: WIDTH, y1, y2: y1 });
  const label = (text, attributes) => svg("text", attributes, text);
  const said = last.map((p) => `message ${p.number}: ${p.emotion}, ${percent(p.polarity)} good`).join("; ");
  return svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${crowded ? HEIGHT : HEIGHT - 16}`, role: "img", "aria-label": `Feeling by message. ${said}` },
    line(TOP, "edge"), line((TOP + BOTTOM) / 2, "middle"), line(BOTTOM, "edge"),
    label("good", { class: "side", x: 0, y: TOP + 4 }), label("bad", { class: "side", x: 0, y: BOTTOM + 4 }),
    svg("polyline", { class: "path", points: last.map((p, i) => `${x(i)},${y(p.polarity)}`).join(" ") }),
    last.map((p, i) => svg("circle", { class: p.selected ? "point selected" : "point", cx: x(i), cy: y(p.polarity), r: p.selected ? 6 : 4 })),
    last.map((p, i) => label(p.emotion, {
      class: p.selected ? "name selected" : "name", x: x(i), y: BOTTOM + 22 + (crowded ? (i % 2) * 16 : 0), "text-anchor": "middle",
    })));
}
