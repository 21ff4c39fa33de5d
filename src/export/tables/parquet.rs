//! Rows as Parquet: only what all engines read alike (data pages v1, Snappy, dictionaries for text, no nesting).

use std::io::{self, Write};
use std::marker::PhantomData;
use std::sync::Arc;

use ::parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{ColumnPath, Type as Field, TypePtr};

use crate::tables::{Block, Cells, Row, SCHEMA, Type};

/// What every such file begins with.
pub const BEGINS: &[u8] = b"PAR1";

/// Rows of a row group; it may have more, as a rank is never split.
const GROUP: usize = 65_536;

/// Writes rows of one table of one run.
pub struct ParquetWriter<R: 'static, W: Write + Send> {
    file: SerializedFileWriter<W>,
    blocks: Vec<Block>,
    rows: PhantomData<fn(R)>,
}

impl<R: Row, W: Write + Send> ParquetWriter<R, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, run: &str) -> io::Result<Self> {
        let entry =
            |key: &str, value: &str| KeyValue::new(format!("stallscope.{key}"), value.to_owned());
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_max_row_group_row_count(None)
            .set_created_by(concat!("stallscope version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![
                entry("schema", &SCHEMA.to_string()),
                entry("table", R::TABLE),
                entry("version", env!("CARGO_PKG_VERSION")),
                entry("run", run),
            ]));
        for column in R::COLUMNS {
            let text = column.kind() == Type::Text;
            let path = ColumnPath::from(column.name);
            properties = properties.set_column_dictionary_enabled(path, text);
        }
        let schema = schema::<R>().map_err(failed)?;
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties.build()));
        Ok(Self {
            file: file.map_err(failed)?,
            blocks: Vec::new(),
            rows: PhantomData,
        })
    }

    /// Adds rows, which stay together: those of one rank, or a part of them that is a row group.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add(&mut self, rows: Block) -> io::Result<()> {
        self.blocks.push(rows);
        match self.held() < GROUP {
            true => Ok(()),
            false => self.write_group().map_err(failed),
        }
    }

    /// Rows that are no row group yet.
    fn held(&self) -> usize {
        self.blocks.iter().map(Block::len).sum()
    }

    /// Bytes that were written: rows that are no row group yet are not in it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.file.bytes_written()
    }

    /// It is whole.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.held() > 0 {
            self.write_group().map_err(failed)?;
        }
        self.file.into_inner().map_err(failed)
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let blocks = std::mem::take(&mut self.blocks);
        let mut group = self.file.next_row_group()?;
        for (i, column) in R::COLUMNS.iter().enumerate() {
            let Some(mut out) = group.next_column()? else {
                return Err(ParquetError::General("a column too many".to_owned()));
            };
            let all = blocks.iter().map(|b| &b.columns()[i]);
            match column.kind() {
                Type::Text => put::<ByteArrayType, _>(&mut out, all, |cells| {
                    let texts: Vec<ByteArray> =
                        cells.texts.iter().map(|t| ByteArray::from(&**t)).collect();
                    move |at| texts[usize::try_from(at).unwrap_or(usize::MAX)].clone()
                })?,
                Type::I32 => put::<Int32Type, _>(&mut out, all, |_| {
                    |n| i32::try_from(n).unwrap_or(i32::MAX)
                })?,
                Type::I64 => put::<Int64Type, _>(&mut out, all, |_| |n| n)?,
                Type::Bool => put::<BoolType, _>(&mut out, all, |_| |n| n != 0)?,
            }
            out.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// Writes a column of a row group; `get` makes of the cells of a block what makes its values.
fn put<'a, D: DataType, F: Fn(i64) -> D::T>(
    out: &mut SerializedColumnWriter<'_>,
    all: impl Iterator<Item = &'a Cells>,
    get: impl Fn(&'a Cells) -> F,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cells in all {
        levels.extend(cells.there.iter().map(|&is| i16::from(is)));
        let get = get(cells);
        values.extend(cells.values.iter().map(|&n| get(n)));
    }
    let levels = (!levels.is_empty()).then_some(&levels[..]);
    out.typed::<D>().write_batch(&values, levels, None)?;
    Ok(())
}

fn schema<R: Row>() -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::with_capacity(R::COLUMNS.len());
    for column in R::COLUMNS {
        let physical = match column.kind() {
            Type::Text => Physical::BYTE_ARRAY,
            Type::I32 => Physical::INT32,
            Type::I64 => Physical::INT64,
            Type::Bool => Physical::BOOLEAN,
        };
        let mut field = Field::primitive_type_builder(column.name, physical).with_repetition(
            match column.nullable() {
                true => Repetition::OPTIONAL,
                false => Repetition::REQUIRED,
            },
        );
        if column.kind() == Type::Text {
            field = field
                .with_logical_type(Some(LogicalType::String))
                .with_converted_type(ConvertedType::UTF8);
        }
        fields.push(Arc::new(field.build()?));
    }
    let table = Field::group_type_builder(R::TABLE).with_fields(fields);
    Ok(Arc::new(table.build()?))
}

/// An error of the output, or of the encoder.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
