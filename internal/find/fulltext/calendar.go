package fulltext

import "context"

// calendar holds the number of rows per day in one space, newest day first, within the
// range of row ids that is searched.
type calendar []day

// day counts the rows of a day and their words.
type day struct {
	number      int64
	docs, words float64
}

// readCalendar reads the calendar of a space.
func (f *finder) readCalendar(ctx context.Context, s space) (calendar, error) {
	rows, err := f.db.query(ctx, "select day, docs, words from days where space = ? and day between ? and ? order by day desc",
		int(s), timeOfNumber(f.high)/dayLength, timeOfNumber(f.low)/dayLength)
	if err != nil {
		return nil, explain("search", err)
	}
	defer rows.Close()
	var all calendar
	for rows.Next() {
		var d day
		if err := rows.Scan(&d.number, &d.docs, &d.words); err != nil {
			return nil, explain("search", err)
		}
		all = append(all, d)
	}
	return all, explain("search", rows.Err())
}

// since returns the number of rows and words from the newest day to the day of row id last.
func (c calendar) since(last int64) (docs, words float64) {
	until := timeOfNumber(last) / dayLength
	for _, d := range c {
		if d.number < until {
			break
		}
		docs, words = docs+d.docs, words+d.words
	}
	return docs, words
}

// reach returns the last row id of the day by which the given number of rows is reached.
func (c calendar) reach(docs float64) int64 {
	for _, d := range c {
		if docs -= d.docs; docs <= 0 {
			return firstNumber(d.number*dayLength-1) - 1
		}
	}
	return maxNumber
}
